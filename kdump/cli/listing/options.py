"""The options of `kdump log`, `kdump index` and the other commands that list files."""

from __future__ import annotations

from kdump.cli.listing import decoder_names
from kdump.cli.options import choice, flag, integer
from kdump.cli.release_options import RELEASE
from kdump.cli.schema_options import DECODER_COMMAND, KEY_DECODER, SCHEMAS_PATH, VALUE_DECODER
from kdump.cli.shared_options import (
    FILE,
    NICE,
    PARTITIONS,
    PATHS,
    RATE,
    STRICT_STDERR,
    TOPICS,
    PrintingOptions,
    offset_range,
    output_option,
    time_range,
)

_FORMS = ("kafka", "ndjson", "csv", "table")
_FORMS_HELP = (
    "kafka: Kafka's lines. ndjson, csv: one JSON object or CSV line per row."
    " table: aligned columns, as wide as the terminal, or uncut in a pipe."
)

EXPORTS = ("parquet", "arrow")
"""Forms of output that are files, not text."""


class ListingOptions(PrintingOptions):
    """What all of these commands take."""

    paths: tuple[str, ...] = PATHS
    topics: str | None = TOPICS
    partitions: str | None = PARTITIONS
    output: str = output_option(_FORMS, _FORMS_HELP)
    file: str | None = FILE
    release: str = RELEASE
    limit: int | None = integer("--limit", "Stop after N rows.", minimum=1)
    is_strict: bool = STRICT_STDERR
    is_nice: bool = NICE
    rate: str = RATE


class OffsetRangeOptions(ListingOptions):
    """What the commands take whose rows have offsets."""

    from_offset: int | None
    to_offset: int | None
    from_offset, to_offset = offset_range("List only rows with")


class TimeRangeOptions(OffsetRangeOptions):
    """What the commands take whose rows have timestamps, too."""

    from_time: str | None
    to_time: str | None
    from_time, to_time = time_range("List only rows that may be of")


class LogOptions(TimeRangeOptions):
    """What `kdump log` and `kdump checkpoint` take."""

    output: str = output_option((*_FORMS, *EXPORTS), f"{_FORMS_HELP} parquet, arrow: a file of that format, with -o FILE.")
    from_position: int | None = integer("--from-position", "List only batches that start at this byte or later.", minimum=0)
    tail: int | None = integer(
        "--tail",
        "List only the last N batches of each partition, or with --deep the last N records.",
        minimum=1,
        metavar="N",
    )
    offset: int | None = integer(
        "--offset", "List only the batch or record with offset N; if there is none, show what is around it.", metavar="N"
    )
    is_deep: bool = flag("--deep --deep-iteration", "List records, not only batches.")
    prints_data: bool = flag("--print-data-log", "Also print keys and values in Kafka's lines; implies --deep.")
    skips_metadata: bool = flag("--skip-record-metadata", "Print only the keys and values of records.")
    decode: str | None = choice(
        "--decode",
        decoder_names.NAMES,
        f"How to decode keys and values: {', '.join(decoder_names.NAMES)}. 'auto' chooses by the directory name; it is"
        " the default, except for Kafka's lines. All except 'none' imply --deep and --print-data-log.",
        spelling=decoder_names.named,
        metavar="NAME",
    )
    key_decoder: str | None = KEY_DECODER
    value_decoder: str | None = VALUE_DECODER
    schemas: str | None = SCHEMAS_PATH
    decoder_command: str | None = DECODER_COMMAND
    fails_fast: bool = flag("--fail-fast", "Stop at the first damage, with exit code 1; otherwise the listing goes on after it.")
