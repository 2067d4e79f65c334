"""The options of the commands that mend."""

from __future__ import annotations

from kdump.cli.options import DIRECTORIES, argument, arguments, flag, text, texts
from kdump.cli.shared_options import (
    FORMS,
    NICE,
    PARTITIONS,
    RATE,
    TOPICS,
    PrintingOptions,
    offset_range,
    output_option,
    time_range,
)
from kdump.mending.settings import CONFIG, KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SETTINGS = texts(
    "--config",
    f"A setting of the broker or topic: {', '.join(CONFIG)}.",
    metavar="NAME=VALUE",
    completes=[f"{name}=" for name in CONFIG],
)


def _output(rows: str) -> Any:
    """The option `--output` of a command whose CSV and tables have only these rows."""
    return output_option(
        FORMS, f"text is for people. ndjson, json: all rows, and the summary. csv, table: {rows}; stderr counts the others."
    )


class MendOptions(PrintingOptions):
    """What all of these commands take."""

    out: str | None = text(
        "-o",
        "The new directory; it must not exist yet, nor lie inside PATH. Missing ones above it are made.",
        metavar="DIR",
        completes=DIRECTORIES,
    )
    is_nice: bool = NICE
    rate: str = RATE


class ReindexOptions(MendOptions):
    """What `kdump reindex` takes."""

    path: str = argument("PATH", is_required=True, completes=DIRECTORIES)
    topics: str | None = TOPICS
    partitions: str | None = PARTITIONS
    only: str = text(
        "--only",
        f"Rebuild only these companions, and clone the others as they are: {', '.join(KINDS)}.",
        default="",
        metavar="NAME,...",
        completes=list(KINDS),
    )
    without_logs: bool = flag(
        "--without-logs",
        "Write only the rebuilt companions, to be copied beside the logs of PATH; the report lists what to remove there.",
    )
    config: tuple[str, ...] = SETTINGS
    output: str = _output("the files of the new directory")


class SliceOptions(MendOptions):
    """What `kdump slice` takes."""

    path: str = argument("PATH", is_required=True, completes=DIRECTORIES)
    from_offset: int | None
    to_offset: int | None
    from_offset, to_offset = offset_range("Keep only batches that have records with")
    from_time: str | None
    to_time: str | None
    from_time, to_time = time_range("Keep only batches that have records of")
    is_exact: bool = flag("--exact", "Also take the records outside of these ranges out of the batches at the edges.")
    with_damage: bool = flag(
        "--with-damage",
        "Keep what is damaged in a range of offsets as it is, for somebody who is to see it: no broker is to start with that.",
    )
    keep_keys: tuple[str, ...] = texts("--keep-key", "Keep only records with this key; may be repeated.", metavar="KEY")
    drop_keys: tuple[str, ...] = texts("--drop-key", "Leave out records with this key; may be repeated.", metavar="KEY")
    is_hex: bool = flag("--hex", "Keys are bytes in hexadecimal.")
    config: tuple[str, ...] = SETTINGS
    output: str = _output("the logs that were read")


class RecoverOptions(MendOptions):
    """What `kdump recover` takes."""

    paths: tuple[str, ...] = arguments("PATH...", is_required=True, completes=DIRECTORIES)
    topics: str | None = TOPICS
    partitions: str | None = PARTITIONS
    merge: tuple[str, ...] = texts(
        "--merge",
        "A directory of the same partition, or a log directory, of another broker: holes are filled from it. Repeatable.",
        metavar="REPLICA",
        completes=DIRECTORIES,
    )
    accept: tuple[str, ...] = texts(
        "--accept",
        "Take over the batch with this offset although its CRC does not match, with a new CRC, if it decodes. Repeatable.",
        metavar="OFFSET",
    )
    config: tuple[str, ...] = SETTINGS
    output: str = _output("what was dropped")


class RedactOptions(MendOptions):
    """What `kdump redact` takes."""

    path: str = argument("PATH", is_required=True, completes=DIRECTORIES)
    from_offset: int | None
    to_offset: int | None
    from_offset, to_offset = offset_range("Copy only batches, and damage, that have or may have records with")
    from_time: str | None
    to_time: str | None
    from_time, to_time = time_range("Copy only batches that have records of")
    redacts_values: bool = flag("--values", "Replace values; without --values, --keys and --headers, all three are replaced.")
    redacts_keys: bool = flag("--keys", "Replace keys.")
    redacts_headers: bool = flag("--headers", "Replace names and values of headers.")
    keep_fields: tuple[str, ...] = texts(
        "--keep-field",
        "Leave this field of JSON values as it is, such as order.id, and leave the values JSON; may be repeated.",
        metavar="JSON.PATH",
    )
    seed: str | None = text("--seed", "Replace the same contents in the same way in each run with this text; keep it secret.")
    output: str = _output("the files of the new directory")
