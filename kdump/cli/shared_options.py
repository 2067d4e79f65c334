"""Options that several commands share."""

from __future__ import annotations

from kdump.cli.options import FILES, arguments, choice, flag, integer, text
from kdump.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

KEEP, ESCAPE = "keep", "escape"

STDIN = "-"
"""The path that means stdin."""

PATHS = arguments("PATH...", is_required=True, completes=FILES)

FILE = text("-o", "Write the output to FILE instead of stdout; FILE must not exist yet.", metavar="FILE", completes=FILES)

CSV_FORMULAS = choice(
    "--csv-formulas",
    (KEEP, ESCAPE),
    "In CSV, text that starts like a formula of a spreadsheet (=, +, -, @, tab): keep it as it is, or escape it by a leading '.",
    default=KEEP,
)

STRICT_STDERR = flag("--strict-stderr", "Print only Kafka's own messages on stderr.")

TOPICS = text("--topics", "Only partitions of these topics, where PATH is a log directory or above some.", metavar="GLOB,...")
PARTITIONS = text("--partitions", "Only partitions with these numbers.", metavar="0,4-7")

NICE = flag(
    "--nice", "Run at the lowest CPU and I/O priority and leave the page cache as it was, for use beside a running broker."
)

RATE = text("--rate", "Read no faster than this, for example 50MB/s; uses one process.", default="", metavar="RATE")


def jobs_option(what: str) -> Any:
    """The option for the number of processes; `what` says what they are for."""
    return integer("--jobs", f"{what}; 0, the default, chooses a number that suits the machine.", minimum=0, default=0)


def output_option(forms: Sequence[str], help: str) -> Any:
    """The option for the form of the output; the first of `forms` is the default."""
    return choice("--output", forms, help, default=forms[0])


def throttle_reading(rate: str, *, is_nice: bool) -> None:
    """Throttle this process if `--rate` or `--nice` asks for it. Raises UsageError for an invalid rate."""
    if is_nice or rate:
        from kdump.binary.throttle import throttle

        throttle(rate, is_nice=is_nice)


def settings_of(words: Sequence[str]) -> dict[str, str]:
    """The values of `--config`, by name. Raises UsageError for a word that is not NAME=VALUE."""
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"--config {word}: a setting is NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings
