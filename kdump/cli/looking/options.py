"""The options of `kdump info`, `kdump triage`, `kdump map` and `kdump report`."""

from __future__ import annotations

from kdump.checks.settings import DEFAULT_LEVEL, HEADERS
from kdump.checks.settings import LEVELS as CHECK_LEVELS
from kdump.cli.options import FILES, CommandOptions, choice, flag, text
from kdump.cli.shared_options import FORMS, NICE, PARTITIONS, PATHS, RATE, TOPICS, ReadingOptions, jobs_option, output_option
from kdump.overview.map_rows import AXES, PICTURES, PLOTS
from kdump.overview.row import AUTO, LEVELS, TRIAGE_LEVELS


class InfoOptions(ReadingOptions):
    """What `kdump info` takes."""

    level: str = choice(
        "--level",
        LEVELS,
        "headers: sizes, and headers at the start and the end of each partition. full: all batches, with their checksums.",
        default=HEADERS,
    )
    jobs: int = jobs_option("Use N processes")


class TriageOptions(InfoOptions):
    """What `kdump triage` takes."""

    level: str = choice(
        "--level",
        TRIAGE_LEVELS,
        "auto: everything, if the logs have 128 MiB or less in up to 2,000 directories; else headers. headers: checkpoints,"
        " headers at the ends of each partition, and what a start scans, up to 256 MiB in all. The others: as for `kdump check`.",
        default=AUTO,
    )
    shows_all: bool = flag("--all", "Show everything that was found, with all commands, however many lines it takes.")


class MapOptions(ReadingOptions):
    """What `kdump map` takes."""

    axis: str = choice(
        "--by",
        AXES,
        "What goes from left to right: bytes; offset, from the first of each segment; or time, the same for all segments.",
        default=AXES[0],
        metavar="AXIS",
    )
    level: str = choice(
        "--level", CHECK_LEVELS, "How deep to check for what is marked, as for `kdump check`.", default=DEFAULT_LEVEL
    )
    plot: str = choice(
        "--plot",
        PLOTS,
        "What svg and png show: the map; bytes of batches over time; timestamps in the order of the log; producers and"
        " transactions over time.",
        default=PLOTS[0],
        metavar="PLOT",
    )
    output: str = output_option(
        (*FORMS, *PICTURES),
        "text is the picture. ndjson, json: segments, spans, marks, producers and runs. csv, table: segments. svg, png: a picture"
        " as a file; png needs resvg-py.",
    )


class ReportOptions(CommandOptions):
    """What `kdump report` takes."""

    paths: tuple[str, ...] = PATHS
    file: str | None = text(
        "-o", "Write the output to FILE, one page of HTML; FILE must not exist yet.", metavar="FILE", completes=FILES
    )
    has_evidence: bool = flag("--evidence", "Also show the first bytes of each finding in hex, which may be of records.")
    level: str = choice("--level", CHECK_LEVELS, "How deep to check, as for `kdump check`.", default=DEFAULT_LEVEL)
    topics: str | None = TOPICS
    partitions: str | None = PARTITIONS
    jobs: int = jobs_option("Use N processes")
    is_nice: bool = NICE
    rate: str = RATE
