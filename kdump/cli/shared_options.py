"""Options that several commands share."""

from __future__ import annotations

from kdump.cli.options import FILES, CommandOptions, arguments, choice, flag, integer, text
from kdump.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kdump.formats.ranges import Range

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

AUTO, ALWAYS, NEVER = "auto", "always", "never"

COLOR = choice("--color", (AUTO, ALWAYS, NEVER), "Whether to use colours; auto: on a terminal without NO_COLOR.", default=AUTO)

QUIET = flag("-q --quiet", "Show nothing: the exit code is the answer.")

STRICT_STDERR = flag("--strict-stderr", "Print only Kafka's own messages on stderr.")

TOPICS = text("--topics", "Only partitions of these topics, where PATH is a log directory or above some.", metavar="GLOB,...")
PARTITIONS = text("--partitions", "Only partitions with these numbers.", metavar="0,4-7")

NICE = flag(
    "--nice", "Run at the lowest CPU and I/O priority and leave the page cache as it was, for use beside a running broker."
)

RATE = text("--rate", "Read no faster than this, for example 50MB/s; uses one process.", default="", metavar="RATE")


# The options for a range; `rows` says what is chosen, up to the word that the range follows.


def offset_range(rows: str) -> tuple[Any, Any]:
    """The options for the first and the last offset."""
    return (
        integer("--from-offset", f"{rows} this offset or a later one.", minimum=0, metavar="OFFSET"),
        integer("--to-offset", f"{rows} this offset or an earlier one.", minimum=0, metavar="OFFSET"),
    )


def time_range(rows: str) -> tuple[Any, Any]:
    """The options for the first and the last time."""
    times = "2026-11-20, 2026-11-20T13:45 (UTC), 2h (before now), yesterday, or milliseconds since 1970"
    return (
        text("--from-time", f"{rows} this time or a later one: {times}.", metavar="TIME"),
        text("--to-time", f"{rows} this time or an earlier one.", metavar="TIME"),
    )


def jobs_option(what: str) -> Any:
    """The option for the number of processes; `what` says what they are for."""
    return integer("--jobs", f"{what}; 0, the default, chooses a number that suits the machine.", minimum=0, default=0)


def output_option(forms: Sequence[str], help: str) -> Any:
    """The option for the form of the output; the first of `forms` is the default."""
    return choice("--output", forms, help, default=forms[0])


FORMS = ("text", "ndjson", "json", "csv", "table")


class PrintingOptions(CommandOptions):
    """What commands take that print a report, as text for people or as rows."""

    output: str = output_option(FORMS, "text is for people; the others are for programs.")
    csv_formulas: str = CSV_FORMULAS
    color: str = COLOR


class JudgingOptions(PrintingOptions):
    """What commands take that judge files, or find records in them."""

    paths: tuple[str, ...] = PATHS
    topics: str | None = TOPICS
    partitions: str | None = PARTITIONS
    file: str | None = FILE
    is_quiet: bool = QUIET


class ReadingOptions(JudgingOptions):
    """What those of them take that may read much, beside a running broker."""

    is_nice: bool = NICE
    rate: str = RATE


def range_of(options: Any) -> Range:  # of any command with these four options
    """The range of offsets and times that options give. Raises UsageError for one that ends before it begins."""
    from kdump.formats.ranges import Range
    from kdump.output.times import bounds

    first, last = options.from_offset, options.to_offset
    if first is not None and last is not None and first > last:
        raise UsageError(f"the range of offsets ends before it begins: {first} to {last}")
    return Range(first, last, *bounds(options.from_time, options.to_time))


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
