"""The options of `kdump scan`."""

from __future__ import annotations

from kdump.checks.finding import ERROR, SEVERITIES
from kdump.checks.settings import CLEANUP_POLICIES, LEVELS, SCAN_LEVEL, UNKNOWN
from kdump.cli.options import DIRECTORIES, TABLES, CommandOptions, choice, flag, text, texts
from kdump.cli.scanning.engine import ENGINES
from kdump.cli.schema_options import KEY_DECODER, SCHEMAS_PATH, VALUE_DECODER
from kdump.cli.shared_options import FILE, NICE, PARTITIONS, PATHS, QUIET, RATE, TOPICS, jobs_option, output_option

SAVINGS = {"sample": "sample", "all": "true", "none": "false"}
"""Which compressed batches a scan decompresses to measure their size, as the pipeline's option."""


class ScanOptions(CommandOptions):
    """What `kdump scan` takes."""

    paths: tuple[str, ...] = PATHS
    tables_to: str | None = text(
        "--tables-to",
        "Write the tables to DIR, which must not exist yet, or hold those of an earlier scan of the same: then only what is new"
        " or changed is read. Without it, print only the summary.",
        metavar="DIR",
        completes=DIRECTORIES,
    )
    engine: str | None = choice(
        "--engine",
        ENGINES,
        "local: worker processes on this machine. spark: in this process or on a cluster. By default local, except with --master"
        " or --conf, in a process of spark-submit, or where a Spark session is running.",
    )
    master: str | None = text(
        "--master",
        "The Spark cluster, such as spark://host:7077. PATH and DIR must be the same there as on this machine.",
        metavar="URL",
    )
    conf: tuple[str, ...] = texts("--conf", "A Spark setting.", metavar="NAME=VALUE")
    tables: str | None = text(
        "--tables", "The tables to write; by default all except records.", metavar="NAME,...", completes=TABLES
    )
    with_records: bool = flag("--records", "Also write the table of records, with all keys and values.")
    decode: str = choice(
        "--decode",
        ("none", "auto"),
        "auto: with --records, also decode keys and values by the schemas of the _schemas-0 beside them, or of --schemas.",
        default="none",
    )
    key_decoder: str | None = KEY_DECODER
    value_decoder: str | None = VALUE_DECODER
    schemas: str | None = SCHEMAS_PATH
    savings: str = choice(
        "--savings",
        list(SAVINGS),
        "Which compressed batches to decompress, to measure what codecs save.",
        default="sample",
        metavar="WHICH",
    )
    topics: str | None = TOPICS
    partitions: str | None = PARTITIONS
    broker: str | None = text(
        "--broker", "The name of the broker that PATH belongs to; by default taken from its directories.", metavar="NAME"
    )
    include_deleted: bool = flag("--include-deleted", "Also examine files that are about to be deleted.")
    target_bytes: str = text(
        "--target-bytes", "How many bytes one task reads.", default="64m", metavar="SIZE", shows_default=True
    )
    level: str = choice("--level", LEVELS, "How deep to check, as for `kdump check`.", default=SCAN_LEVEL)
    cleanup_policy: str = choice("--cleanup-policy", CLEANUP_POLICIES, "The topics' cleanup policy.", default=UNKNOWN)
    fail_on: str = choice(
        "--fail-on", SEVERITIES, "Exit with code 1 for findings of this severity or worse.", default=ERROR, metavar="SEVERITY"
    )
    jobs: int = jobs_option("Use N cores")
    output: str = output_option(("text", "json"), "The form of the summary: for people, or for programs.")
    file: str | None = FILE
    is_quiet: bool = QUIET
    is_nice: bool = NICE
    rate: str = RATE
