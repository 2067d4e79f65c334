"""The inputs of a forecast: the release, the kind of stop, the recovery point, and the relevant settings."""

from __future__ import annotations

from kdump.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.releases.broker_startup import StartRules

CLEAN, UNCLEAN = "clean", "unclean"
STOPS = (CLEAN, UNCLEAN)

ZERO, END, CHECKPOINT = "zero", "end", "checkpoint"
RECOVERY_POINTS = (ZERO, END, CHECKPOINT)
"""Where recovery starts: at the first segment, at the newest, or as stored in the log directory."""

CONFIG = {"index.interval.bytes": 4096, "segment.index.bytes": 10 << 20}
"""The settings of a topic or broker that a start depends on, with their defaults."""

ALIASES = {
    "log.index.interval.bytes": "index.interval.bytes",
    "log.index.size.max.bytes": "segment.index.bytes",
    "max.index.size": "segment.index.bytes",
}
"""Other names of these settings; some names exist only for brokers."""


class Settings:
    """The parameters of one start. `recovery_point` and `log_start` are offsets."""

    def __init__(
        self,
        rules: StartRules,
        *,
        is_clean: bool,
        recovery_point: int,
        log_start: int = 0,
        config: Mapping[str, int] = CONFIG,
    ) -> None:
        self.rules = rules
        self.is_clean = is_clean
        self.recovery_point = recovery_point
        self.log_start = log_start
        self.index_interval = config["index.interval.bytes"]
        self.max_index_size = config["segment.index.bytes"]


def config_of(values: Mapping[str, str | int]) -> dict[str, int]:
    """The settings with these values. Raises UsageError for an irrelevant name, or a value that is not a number."""
    config = dict(CONFIG)
    for name, value in values.items():
        known = ALIASES.get(name, name)
        if known not in CONFIG:
            raise UsageError(f"a start does not depend on {name!r}", remedy=f"what it depends on: {', '.join(CONFIG)}")
        try:
            config[known] = int(value)
        except ValueError:
            config[known] = -1
        if not 0 <= config[known] <= 0x7FFFFFFF:
            raise UsageError(f"{name}={value}: the value must be a number of bytes")
    return config
