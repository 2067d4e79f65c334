"""The rows of a search: records that match, what was not read intact, each file, and the verdict."""

from __future__ import annotations

from kdump.output.rows.listing import ListedRecord
from kdump.tables import Bool, Float64, Int32, Int64, Row, Text, column

FOUND, ABSENT, NOT_PROVEN = "found", "absent", "not proven"
VERDICTS = (FOUND, ABSENT, NOT_PROVEN)

SAME, CHANGED, MISSING, NEW, UNREADABLE = "same", "changed", "missing", "new", "unreadable"
STATUSES = (SAME, CHANGED, MISSING, NEW, UNREADABLE)


class Hit(ListedRecord, kind="hit"):
    """A record that matches, or one beside it if context was asked for; see kdump schema record for what records have.

    `matched` says where the pattern or a condition matches; it is empty for context.
    """

    is_control: Bool = column("Whether it is a control record, such as a transaction marker.")
    broker: Text | None = column("The broker, by the path or meta.properties.")
    topic: Text | None = column("The topic, by the name of the directory.")
    partition: Int32 | None = column("The partition, by the name of the directory.")
    expected_partition: Int32 | None = column("With --partition-count: the partition that the default partitioner gives the key.")
    matched: list[Text] = column(
        "Where it matches: key, value, header:NAME, header-name:NAME, decoded-key, decoded-value, or a condition;"
        " empty for context."
    )


class NotRead(Row, kind="not-read"):
    """Bytes of a file, `end` exclusive, that were not read intact, with the fault code.

    A file or directory that was not read at all has no range.
    """

    file: Text = column("The file or directory.")
    start: Int64 | None = column("The first byte of the range.")
    end: Int64 | None = column("The byte after the range.")
    offset: Int64 | None = column("The first offset that may be missing because of it.")
    next_offset: Int64 | None = column("The first offset after it that was read; null if none follows.")
    code: Text = column("The fault code.")
    message: Text = column("What is wrong.")


class SearchedFile(Row, kind="searched-file"):
    """A file that was searched, and how much of it. Its digest is only made to prove an absence."""

    file: Text
    broker: Text | None
    topic: Text | None
    partition: Int32 | None
    state: Text | None = column(
        "Why brokers no longer serve it: deleted, cleaned, swap, delete, stray; future: it is being moved."
    )
    size: Int64
    batches: Int64 = column("The number of batches that were searched.")
    records: Int64 = column("The number of their records that were searched.")
    claimed_records: Int64 = column("The number of records that the headers of these batches claim.")
    first_offset: Int64 | None = column("The first offset of a batch that was searched.")
    last_offset: Int64 | None = column("The highest offset of a batch that was searched.")
    hits: Int64 = column("The number of records that match.")
    not_read: Int64 = column("The number of ranges that were not read intact.")
    sha256: Text | None = column("The SHA-256 of the file.")


class SearchVerdict(Row, kind="search-verdict"):
    """The verdict of a search, and what was searched."""

    verdict: Text = column(
        "found; absent, if files were searched, none was left out, all bytes were read intact and none match; else not proven.",
        VERDICTS,
    )
    hits: Int64 = column("The number of records that match.")
    damaged_hits: Int64 = column(
        "How many of them are damaged: the CRC of the batch or message does not match, or a length in it is wrong."
    )
    salvaged_hits: Int64 = column("How many of them lie in batches out of line, whose offsets may be wrong.")
    misplaced: Int64 = column("With --partition-count: records whose key belongs in another partition.")
    files: Int64 = column("The number of files that were searched.")
    bytes: Int64 = column("Their size.")
    batches: Int64 = column("The number of batches that were searched.")
    records: Int64 = column("The number of their records that were searched.")
    claimed_records: Int64 = column("The number of records that the headers of these batches claim.")
    not_read: Int64 = column("The number of ranges, files and directories that were not read intact.")
    not_read_bytes: Int64 = column("The size of these ranges.")
    left_out: Int64 = column("Files about to be deleted or set aside, which were not searched.")
    unknown_fields: list[Text] = column(
        "A sentence for each PATH of --where that no key or value has, so that nothing is proven."
    )
    is_whole: Bool = column("Whether the search went on to the end; --limit and --files-with-matches stop it.")
    certificate: Text | None = column("The file with the certificate.")
    seconds: Float64 = column("How long the run took.")
    exit_code: Int32 = column("The exit code of the command.")


class VerifiedFile(Row, kind="verified-file"):
    """A file of a certificate, and whether it is still the same."""

    file: Text = column("The file.")
    status: Text = column("same, changed, missing, new (not in the certificate) or unreadable.", STATUSES)
    size: Int64 | None = column("Its size now.")
    message: Text | None = column("What differs.")


ROW_CLASSES: tuple[type[Row], ...] = (Hit, NotRead, SearchVerdict)
"""What the output of a search consists of, as rows."""
