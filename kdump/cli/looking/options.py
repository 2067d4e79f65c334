"""The options of `kdump info` and `kdump triage`."""

from __future__ import annotations

from kdump.cli.options import CommandOptions, choice
from kdump.cli.shared_options import (
    COLOR,
    CSV_FORMULAS,
    FILE,
    NICE,
    PARTITIONS,
    PATHS,
    QUIET,
    RATE,
    TOPICS,
    jobs_option,
    output_option,
)
from kdump.overview.row import HEADERS, LEVELS

FORMS = ("text", "ndjson", "json", "csv", "table")


class InfoOptions(CommandOptions):
    """What `kdump info` takes."""

    paths: tuple[str, ...] = PATHS
    level: str = choice(
        "--level",
        LEVELS,
        "headers: sizes, and headers at the start and the end of each partition. full: all batches, with their checksums.",
        default=HEADERS,
    )
    topics: str | None = TOPICS
    partitions: str | None = PARTITIONS
    jobs: int = jobs_option("Use N processes")
    is_nice: bool = NICE
    rate: str = RATE
    output: str = output_option(FORMS, "text is for people; the others are for programs.")
    csv_formulas: str = CSV_FORMULAS
    color: str = COLOR
    file: str | None = FILE
    is_quiet: bool = QUIET
