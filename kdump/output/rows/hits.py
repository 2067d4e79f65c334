"""The rows of a search: records that match, what was not read intact, each file, and the verdict."""

from __future__ import annotations

from kdump.output.rows.listing import ListedRecord
from kdump.tables import Bool, Float64, Int32, Int64, Row, Text

FOUND, ABSENT, NOT_PROVEN = "found", "absent", "not proven"
VERDICTS = (FOUND, ABSENT, NOT_PROVEN)


class Hit(ListedRecord, kind="hit"):
    """A record that matches, or one beside it if context was asked for; see kdump schema record for what records have.

    `matched` says where the pattern or a condition matches; it is empty for context.
    """

    is_control: Bool
    broker: Text | None
    topic: Text | None
    partition: Int32 | None
    expected_partition: Int32 | None
    matched: list[Text]


class NotRead(Row, kind="not-read"):
    """Bytes of a file, `end` exclusive, that were not read intact, with the fault code.

    A file or directory that was not read at all has no range.
    """

    file: Text
    start: Int64 | None
    end: Int64 | None
    offset: Int64 | None
    next_offset: Int64 | None
    code: Text
    message: Text


class SearchedFile(Row, kind="searched-file"):
    """A file that was searched, and how much of it. Its digest is only made to prove an absence."""

    file: Text
    broker: Text | None
    topic: Text | None
    partition: Int32 | None
    state: Text | None
    size: Int64
    batches: Int64
    records: Int64
    claimed_records: Int64
    first_offset: Int64 | None
    last_offset: Int64 | None
    hits: Int64
    not_read: Int64
    sha256: Text | None


class SearchVerdict(Row, kind="search-verdict"):
    """The verdict of a search, and what was searched."""

    verdict: Text
    hits: Int64
    damaged_hits: Int64
    misplaced: Int64
    files: Int64
    bytes: Int64
    batches: Int64
    records: Int64
    claimed_records: Int64
    not_read: Int64
    not_read_bytes: Int64
    left_out: Int64
    unknown_fields: list[Text]
    is_whole: Bool
    certificate: Text | None
    seconds: Float64
    exit_code: Int32


class VerifiedFile(Row, kind="verified-file"):
    """A file of a certificate, and whether it is still the same."""

    file: Text
    status: Text
    size: Int64 | None
    message: Text | None


SAME, CHANGED, MISSING, NEW, UNREADABLE = "same", "changed", "missing", "new", "unreadable"
STATUSES = (SAME, CHANGED, MISSING, NEW, UNREADABLE)

ROW_CLASSES: tuple[type[Row], ...] = (Hit, NotRead, SearchVerdict)
"""What the output of a search consists of, as rows."""

DESCRIPTIONS = {
    Hit: {
        "is_control": "Whether it is a control record, such as a transaction marker.",
        "broker": "The broker, by the path or meta.properties.",
        "topic": "The topic, by the name of the directory.",
        "partition": "The partition, by the name of the directory.",
        "expected_partition": "With --partition-count: the partition that the default partitioner gives the key.",
        "matched": "Where it matches: key, value, header:NAME, header-name:NAME, decoded-key, decoded-value, or a condition;"
        " empty for context.",
    },
    NotRead: {
        "file": "The file or directory.",
        "start": "The first byte of the range.",
        "end": "The byte after the range.",
        "offset": "The first offset that may be missing because of it.",
        "next_offset": "The first offset after it that was read; null if none follows.",
        "code": "The fault code.",
        "message": "What is wrong.",
    },
    SearchedFile: {
        "state": "Why brokers no longer serve it: deleted, cleaned, swap, delete, stray; future: it is being moved.",
        "batches": "The number of batches that were searched.",
        "records": "The number of their records that were searched.",
        "claimed_records": "The number of records that the headers of these batches claim.",
        "first_offset": "The first offset of a batch that was searched.",
        "last_offset": "The highest offset of a batch that was searched.",
        "hits": "The number of records that match.",
        "not_read": "The number of ranges that were not read intact.",
        "sha256": "The SHA-256 of the file.",
    },
    SearchVerdict: {
        "verdict": "found; absent, if files were searched, all bytes were read intact and none match; not proven otherwise.",
        "hits": "The number of records that match.",
        "damaged_hits": "How many of them lie in batches whose CRC does not match.",
        "misplaced": "With --partition-count: records whose key belongs in another partition.",
        "files": "The number of files that were searched.",
        "bytes": "Their size.",
        "batches": "The number of batches that were searched.",
        "records": "The number of their records that were searched.",
        "claimed_records": "The number of records that the headers of these batches claim.",
        "not_read": "The number of ranges, files and directories that were not read intact.",
        "not_read_bytes": "The size of these ranges.",
        "left_out": "Files that brokers are about to delete, and that were not searched.",
        "unknown_fields": "A sentence for each PATH of --where that no key or value has, so that nothing is proven.",
        "is_whole": "Whether the search went on to the end; --limit and --files-with-matches stop it.",
        "certificate": "The file with the certificate.",
        "seconds": "How long the run took.",
        "exit_code": "The exit code of the command.",
    },
    VerifiedFile: {
        "file": "The file.",
        "status": "same, changed, missing, new (not in the certificate) or unreadable.",
        "size": "Its size now.",
        "message": "What differs.",
    },
}
"""What each column says, for schemas."""
