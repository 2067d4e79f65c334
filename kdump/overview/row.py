"""The rows of an overview: places, what fills them, topics, partitions, open transactions, groups."""

from __future__ import annotations

from kdump.checks.settings import FULL, HEADERS
from kdump.checks.settings import LEVELS as CHECK_LEVELS
from kdump.tables import Bool, Float64, Int16, Int32, Int64, Row, Text
from kdump.verdicts.verdict import DOES_NOT_START, LOSES_AT_START, STUCK, UNREADABLE

LOG_DIRECTORY, PARTITION, FILE = "log-directory", "partition", "file"
PLACES = (LOG_DIRECTORY, PARTITION, FILE)

CLEAN, UNCLEAN, RUNNING = "clean", "unclean", "running"
STOPS = (CLEAN, UNCLEAN, RUNNING)

LEVELS = (HEADERS, FULL)
"""How much is read: headers at the start and the end of each log, or all batches with their checksums."""
AUTO = "auto"
"""Everything if it is little, else headers."""
TRIAGE_LEVELS = (AUTO, HEADERS, *CHECK_LEVELS)

SET_ASIDE, MAYBE_STUCK, ALSO, GOING = "set aside", "may be stuck", "also wrong", "will be deleted"
HEADINGS = (DOES_NOT_START, SET_ASIDE, LOSES_AT_START, UNREADABLE, STUCK, MAYBE_STUCK, ALSO, GOING)
"""What is wrong, the worst first: words of a verdict, and four of a triage alone."""


def _no_paths() -> list[str]:
    return []


class Place(Row, kind="place"):
    """A log directory, a partition or a file that was looked at, and whose it is."""

    path: Text
    what: Text
    broker: Text | None
    cluster: Text | None
    mode: Text | None
    written_by: Text | None
    stop: Text | None


class Space(Row, kind="space"):
    """What some of the files in a place take. All rows of a place add up to what `du` says of it."""

    path: Text
    what: Text
    files: Int64
    size: Int64
    disk: Int64
    largest: Text | None


class TopicSum(Row, kind="topic"):
    """The partitions of a topic in a place, added up."""

    path: Text
    topic: Text
    partitions: Int64
    segments: Int64
    size: Int64
    offsets: Int64 | None
    records: Int64 | None
    oldest_timestamp: Int64 | None
    newest_timestamp: Int64 | None
    codec: Text | None
    codec_share: Float64 | None
    saving: Float64 | None
    producers: Int64
    open_transactions: Int64
    partitions_broken: Int64


class PartitionSum(Row, kind="partition"):
    """What is in the logs of a partition, or in a log that was named itself, as far as they were read.

    `size` is that of all logs, `read_bytes` that of the batches whose headers were read. Batches, records, times, codecs and
    `largest_batch` are those of the batches that were read. The bytes that are damaged are null unless all was read.
    """

    path: Text
    topic: Text | None
    partition: Int32 | None
    state: Text | None
    segments: Int64
    size: Int64
    read_bytes: Int64
    is_read_whole: Bool
    first_offset: Int64 | None
    end_offset: Int64 | None
    batches: Int64
    records: Int64 | None
    oldest_timestamp: Int64 | None
    newest_timestamp: Int64 | None
    magics: list[Int32]
    codecs: dict[Text, Int64]
    saving: Float64 | None
    largest_batch: Int64
    producers: Int64
    open_transactions: Int64
    bytes_damaged: Int64 | None
    bytes_zero: Int64 | None
    broken_at: Text | None

    # Not columns: what the savings of topics are added up from.
    measured = uncompressed = 0


class OpenTransaction(Row, kind="open-transaction"):
    """A transaction without a marker, as far as the log was read."""

    path: Text
    producer_id: Int64
    producer_epoch: Int16
    first_offset: Int64
    timestamp: Int64 | None
    open_for_ms: Int64 | None
    is_certain: Bool
    is_hanging: Bool


class Group(Row, kind="group"):
    """A group in `__consumer_offsets`, by the last records that are about it."""

    path: Text
    group: Text
    type: Text
    state: Text
    members: Int64
    committed: Int64


class Unseen(Row, kind="unseen"):
    """Something that could not be looked at."""

    path: Text
    message: Text


class InfoSummary(Row, kind="info-summary"):
    """How much was looked at, and how much of it was read."""

    level: Text
    places: Int64
    partitions: Int64
    files: Int64
    size: Int64
    disk: Int64
    log_bytes: Int64
    read_bytes: Int64
    unseen: Int64
    seconds: Float64
    exit_code: Int32


class TriageEvent(Row, kind="event"):
    """One thing that is wrong, or several that are the same. `path` is the first of them."""

    heading: Text
    path: Text
    places: Int64
    message: Text
    codes: list[Text]
    records: Int64 | None
    offset: Int64 | None
    commands: list[Text]

    # Not a column, because it has no annotation: of these only the first is.
    paths = _no_paths()


class TriageSummary(Row, kind="triage-summary"):
    """The verdict, and how much was read for it."""

    level: Text
    partitions: Int64
    disk: Int64
    log_bytes: Int64
    read_bytes: Int64
    partitions_not_forecast: Int64
    seconds: Float64
    exit_code: Int32
    verdict: Text
    reasons: list[Text]


TRIAGE_CLASSES: tuple[type[Row], ...] = (TriageEvent, TriageSummary)
"""What a triage consists of, as rows."""

ROW_CLASSES: tuple[type[Row], ...] = (
    PartitionSum,
    Place,
    Space,
    TopicSum,
    OpenTransaction,
    Group,
    Unseen,
    InfoSummary,
)
"""What an overview consists of, as rows. The first is what CSV and tables show."""

DESCRIPTIONS: dict[type[Row], dict[str, str]] = {
    Place: {
        "path": "The path, as found under the given one.",
        "what": "What it is.",
        "broker": "The id of the broker, by meta.properties; null if that does not say.",
        "cluster": "The id of the cluster, by meta.properties.",
        "mode": "KRaft or ZooKeeper, by meta.properties.",
        "written_by": "A guess, by the formats of the files, which releases wrote them.",
        "stop": "Whether a broker is running on it, or how the last one stopped; null unless it is a broker's log directory.",
    },
    Space: {
        "path": "The place.",
        "what": "Which files: logs, indexes, and so on.",
        "files": "How many there are.",
        "size": "Their sizes: what `du --apparent-size` adds up.",
        "disk": "What they take on the disk: what `du` adds up.",
        "largest": "The file that takes most, of what is not Kafka's.",
    },
    TopicSum: {
        "path": "The place.",
        "topic": "The topic.",
        "partitions": "How many of its partitions are here.",
        "segments": "How many segments these have.",
        "size": "The size of their logs.",
        "offsets": "From the first offset to the end, of all partitions; null if the end of one was not found.",
        "records": "How many records the headers claim; null unless all were read and say so.",
        "oldest_timestamp": "The oldest timestamp of the batches that were read, in milliseconds since 1970.",
        "newest_timestamp": "The newest timestamp of these.",
        "codec": "The codec that holds most of the bytes that were read.",
        "codec_share": "Its part of these.",
        "saving": "How many times as large the measured batches are without compression.",
        "producers": "Producers with an id.",
        "open_transactions": "Transactions without a marker, as far as was read.",
        "partitions_broken": "Partitions in which something was met that is no batch.",
    },
    PartitionSum: {
        "path": "The partition directory, or the log.",
        "topic": "The topic, by the name of the directory.",
        "partition": "The partition, by the name of the directory.",
        "state": "What the name says: delete, future or stray; null of an ordinary one.",
        "segments": "How many logs there are.",
        "size": "The size of all logs.",
        "read_bytes": "The size of the batches whose headers were read.",
        "is_read_whole": "Whether all batches were read.",
        "first_offset": "The first offset.",
        "end_offset": "The offset after the last; null if the end was not found.",
        "batches": "How many batches were read.",
        "records": "How many records the headers of these claim; null if old messages do not say.",
        "oldest_timestamp": "The oldest timestamp of these, in milliseconds since 1970.",
        "newest_timestamp": "The newest timestamp of these.",
        "magics": "The formats of these.",
        "codecs": "The bytes of these by codec.",
        "saving": "How many times as large the measured ones are without compression; null if none was measured.",
        "largest_batch": "The size of the largest of these.",
        "producers": "Producers with an id: in these, or in the newest producer snapshot.",
        "open_transactions": "Transactions without a marker, as far as was read.",
        "bytes_damaged": "Bytes that are damaged; null unless all was read.",
        "bytes_zero": "Bytes of runs of zeros; null unless all was read.",
        "broken_at": "Where something was met first that is no batch.",
    },
    OpenTransaction: {
        "path": "The partition directory.",
        "producer_id": "The producer.",
        "producer_epoch": "Its epoch.",
        "first_offset": "Where the transaction begins, and read-committed consumers wait.",
        "timestamp": "The timestamp of its first batch, or, by a snapshot, of its last.",
        "open_for_ms": "How long the log goes on after that.",
        "is_certain": "Whether all was read in which a marker may be.",
        "is_hanging": "Whether it is certain, and open for longer than any transaction may last.",
    },
    Group: {
        "path": "The partition directory of __consumer_offsets.",
        "group": "The group.",
        "type": "classic, consumer, share or streams.",
        "state": "stable, rebalancing, empty, with-members or offsets-only, by its records.",
        "members": "How many members it has.",
        "committed": "Of how many partitions it has committed offsets.",
    },
    TriageEvent: {
        "heading": "What is wrong, in a word or two.",
        "path": "The partition, the directory or the file; the first of several.",
        "places": "How many there are.",
        "message": "What it is.",
        "codes": "The faults of `kdump check` that say so.",
        "records": "How many records are lost.",
        "offset": "The offset at which consumers wait.",
        "commands": "What to type, in this order.",
    },
    TriageSummary: {
        "level": "How much was read: headers, or as for `kdump check`.",
        "partitions": "How many partition directories there are.",
        "disk": "What everything takes on the disk.",
        "log_bytes": "The size of all logs.",
        "read_bytes": "The size of the batches whose headers were read, or of what was checked.",
        "partitions_not_forecast": "Partitions of which a start scans too much for this level.",
        "seconds": "How long it took.",
        "exit_code": "The exit code of the command.",
        "verdict": "The verdict, as of a check.",
        "reasons": "Why.",
    },
    Unseen: {"path": "The path.", "message": "Why it could not be looked at."},
    InfoSummary: {
        "level": "How much was read: headers or full.",
        "places": "Log directories, partitions and files that were looked at.",
        "partitions": "Partition directories in these, and logs that were named themselves.",
        "files": "All files.",
        "size": "Their sizes, with those of the directories: what `du --apparent-size` says.",
        "disk": "What they take on the disk: what `du` says.",
        "log_bytes": "The size of all logs.",
        "read_bytes": "The size of the batches whose headers were read.",
        "unseen": "How much could not be looked at.",
        "seconds": "How long it took.",
        "exit_code": "The exit code of the command.",
    },
}
"""What each column says, for schemas."""
