"""The options of `kdump grep` and `kdump where`."""

from __future__ import annotations

from kdump.cli.options import FILES, arguments, choice, flag, integer, text, texts
from kdump.cli.release_options import RELEASE
from kdump.cli.schema_options import DECODER_COMMAND, KEY_DECODER, SCHEMAS_PATH, VALUE_DECODER
from kdump.cli.shared_options import FORMS, STRICT_STDERR, ReadingOptions, jobs_option, offset_range, output_option, time_range
from kdump.searching.fields import FIELDS


class GrepOptions(ReadingOptions):
    """What `kdump grep` takes."""

    paths: tuple[str, ...] = arguments("[PATTERN] PATH...", completes=FILES)
    pattern: str | None = text("-e", "The pattern; all arguments are then paths.", metavar="PATTERN")
    is_fixed: bool = flag("-F", "The pattern is text as it is (the default).")
    is_regex: bool = flag("-E", "The pattern is a regular expression (of Python, on bytes).")
    is_hex: bool = flag("--hex", "The pattern, --key and the values of --header are bytes in hexadecimal.")
    ignores_case: bool = flag("-i", "Ignore the case of letters (A to Z).")
    fields: str = text(
        "--in",
        f"Look for the pattern only in these fields: {', '.join(FIELDS)}. Default: the first three, or four with"
        " --prove-absent. In decoded keys and values, the pattern is looked for in their JSON.",
        default="",
        metavar="FIELD,...",
        completes=FIELDS,
    )
    key: str | None = text("--key", "Only records with this key.")
    headers: tuple[str, ...] = texts("--header", "Only records with this header.", metavar="NAME[=VALUE]")
    where: tuple[str, ...] = texts(
        "--where",
        "Only records whose decoded value, or value that is JSON, has VALUE at PATH, such as user.id=42 or items.*.sku=A1; with"
        " key. before it, whose key has, such as key.group=app.",
        metavar="PATH=VALUE",
    )
    decode: str = choice(
        "--decode",
        ("auto", "none"),
        "auto: decode values for --where, keys and values for --in decoded, and both of records that match, by the schemas of the"
        " _schemas-0 beside the data.",
        default="auto",
    )
    key_decoder: str | None = KEY_DECODER
    value_decoder: str | None = VALUE_DECODER
    schemas: str | None = SCHEMAS_PATH
    decoder_command: str | None = DECODER_COMMAND
    is_tombstone: bool = flag("--tombstones", "Only records with a key and without a value.")
    producer: int | None = integer("--producer", "Only records of this producer id.", metavar="ID")
    from_offset: int | None
    to_offset: int | None
    from_offset, to_offset = offset_range("Only records with")
    from_time: str | None
    to_time: str | None
    from_time, to_time = time_range("Only records of")
    partition_count: int | None = integer(
        "--partition-count",
        "The topic has N partitions: with --key, read only the one where the default partitioner puts the key, and mark keys that"
        " belong elsewhere. Without any condition, list the records whose key belongs in another partition.",
        minimum=1,
    )
    counts: bool = flag("--count", "Show the number of matches in each file.")
    lists_files: bool = flag("-l --files-with-matches", "Show only the names of files with a match.")
    limit: int | None = integer("--limit", "Stop after N matches.", minimum=1)
    context: int = integer("--context", "Also show N records before and after each match.", minimum=0, default=0)
    proves_absence: bool = flag(
        "--prove-absent",
        "Also search files that brokers are about to delete, and KRaft snapshots, and write a certificate of what was searched.",
    )
    certificate: str | None = text(
        "--certificate",
        "The file for the certificate, which must not exist yet. Default: kdump-certificate-TIME.json here.",
        metavar="FILE",
        completes=FILES,
    )
    verify: str | None = text(
        "--verify",
        "Search nothing: verify that the files of a certificate are still the same. PATH... are its paths, if they have moved.",
        metavar="CERTIFICATE",
        completes=FILES,
    )
    output: str = output_option(
        ("kafka", *FORMS[1:], "parquet"),
        "kafka: Kafka's lines. ndjson, json: matches, what was not read, and the verdict. csv, table: matches."
        " parquet: a file of matches, with -o FILE.",
    )
    release: str = RELEASE
    jobs: int = jobs_option("Search N files at once")
    is_strict: bool = STRICT_STDERR


class WhereOptions(ReadingOptions):
    """What `kdump where` takes."""

    paths: tuple[str, ...] = arguments("[TOPIC-P@OFFSET] PATH...", completes=FILES)
    key: str | None = text("--key", "Every record with this key; all arguments are then paths.")
    is_hex: bool = flag("--hex", "The key is bytes in hexadecimal.")
    output: str = output_option(FORMS, "text is for people; the others have a row for each answer, for programs.")
