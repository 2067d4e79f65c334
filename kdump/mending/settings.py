"""What companions depend on: the kinds of them, and the settings of a topic or broker. Quick to load, for the options."""

from __future__ import annotations

from kdump.errors import UsageError
from kdump.forecasts import settings as starts
from kdump.formats import file_name, text_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

INDEX, TIME_INDEX, TRANSACTION_INDEX, SNAPSHOT, EPOCHS = "index", "timeindex", "txnindex", "snapshot", "epochs"
KINDS = {
    INDEX: file_name.OFFSET_INDEX,
    TIME_INDEX: file_name.TIME_INDEX,
    TRANSACTION_INDEX: file_name.TRANSACTION_INDEX,
    SNAPSHOT: file_name.PRODUCER_SNAPSHOT,
    EPOCHS: text_checkpoint.LEADER_EPOCHS,
}
"""What can be rebuilt, and the suffix or the name of these files."""

EXPIRATION = "producer.id.expiration.ms"
CONFIG = {**starts.CONFIG, EXPIRATION: 86_400_000}
"""The settings of the topic or broker that companions depend on, with their defaults."""

_HIGHEST = 0x7FFFFFFF


class Rules:
    """The settings that recovery depends on: sizes in bytes, times in milliseconds.

    A producer that has been silent for `producer_expiration` is forgotten when a snapshot is loaded. Raises UsageError for
    names that are not in CONFIG, and for values that are not numbers.
    """

    def __init__(self, config: Mapping[str, str | int] | None = None) -> None:
        values = dict(CONFIG)
        for name, value in (config or {}).items():
            if name not in CONFIG:
                raise UsageError(f"companions do not depend on {name!r}", remedy=f"what they depend on: {', '.join(CONFIG)}")
            text = str(value)
            if not (text.isascii() and text.isdigit() and len(text) <= len(str(_HIGHEST)) and int(text) <= _HIGHEST):
                raise UsageError(f"{name}={value}: the value must be a whole number from 0 to {_HIGHEST}")
            values[name] = int(text)
        self.of_start: dict[str, str | int] = {name: values[name] for name in starts.CONFIG}
        self.index_interval, self.max_index_size, self.producer_expiration = values.values()


def kinds_of(words: Iterable[str]) -> list[str]:
    """What to rebuild, by its words; all if there are none. Raises UsageError for other words."""
    chosen = list(words)
    for word in chosen:
        if word not in KINDS:
            raise UsageError(f"--only {word}: there is no such companion", remedy=f"there are {', '.join(KINDS)}")
    return chosen or list(KINDS)
