"""The rows of an overview: places, what fills them, topics, partitions, open transactions, groups."""

from __future__ import annotations

from typing import cast

from kdump.checks.settings import FULL, HEADERS
from kdump.checks.settings import LEVELS as CHECK_LEVELS
from kdump.tables import Bool, Float64, Int16, Int32, Int64, Row, Text, column
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


class Place(Row, kind="place"):
    """A log directory, a partition or a file that was looked at, and whose it is."""

    path: Text = column("The path, as found under the given one.")
    what: Text = column("What it is.", PLACES)
    broker: Text | None = column("The id of the broker, by meta.properties; null if that does not say.")
    cluster: Text | None = column("The id of the cluster, by meta.properties.")
    mode: Text | None = column("KRaft or ZooKeeper, by meta.properties.")
    written_by: Text | None = column("A guess, by the formats of the files, which releases wrote them.")
    stop: Text | None = column(
        "Whether a broker is running on it, or how the last one stopped; null unless it is a broker's log directory."
    )


class Space(Row, kind="space"):
    """What some of the files in a place take. All rows of a place add up to what `du` says of it."""

    path: Text = column("The place.")
    what: Text = column("Which files: logs, indexes, and so on.")
    files: Int64 = column("How many there are.")
    size: Int64 = column("Their sizes: what `du --apparent-size` adds up.")
    disk: Int64 = column("What they take on the disk: what `du` adds up.")
    largest: Text | None = column("The file that takes most, of what is not Kafka's.")


class TopicSum(Row, kind="topic"):
    """The partitions of a topic in a place, added up."""

    path: Text = column("The place.")
    topic: Text = column("The topic.")
    partitions: Int64 = column("How many of its partitions are here.")
    segments: Int64 = column("How many segments these have.")
    size: Int64 = column("The size of their logs.")
    offsets: Int64 | None = column("From the first offset to the end, of all partitions; null if the end of one was not found.")
    records: Int64 | None = column("How many records the headers claim; null unless all were read and say so.")
    oldest_timestamp: Int64 | None = column("The oldest timestamp of the batches that were read, in milliseconds since 1970.")
    newest_timestamp: Int64 | None = column("The newest timestamp of these.")
    codec: Text | None = column("The codec that holds most of the bytes that were read.")
    codec_share: Float64 | None = column("Its part of these.")
    saving: Float64 | None = column("How many times as large the measured batches are without compression.")
    producers: Int64 = column("Producers with an id.")
    open_transactions: Int64 = column("Transactions without a marker, as far as was read.")
    partitions_broken: Int64 = column("Partitions in which something was met that is no batch.")


class PartitionSum(Row, kind="partition"):
    """What is in the logs of a partition, or in a log that was named itself, as far as they were read.

    `size` is that of all logs, `read_bytes` that of the batches whose headers were read. Batches, records, times, codecs and
    `largest_batch` are those of the batches that were read. The bytes that are damaged are null unless all was read.
    """

    path: Text = column("The partition directory, or the log.")
    topic: Text | None = column("The topic, by the name of the directory.")
    partition: Int32 | None = column("The partition, by the name of the directory.")
    state: Text | None = column("What the name says: delete, future or stray; null of an ordinary one.")
    segments: Int64 = column("How many logs there are.")
    size: Int64 = column("The size of all logs.")
    read_bytes: Int64 = column("The size of the batches whose headers were read.")
    is_read_whole: Bool = column("Whether all batches were read.")
    first_offset: Int64 | None = column("The first offset.")
    end_offset: Int64 | None = column("The offset after the last; null if the end was not found.")
    batches: Int64 = column("How many batches were read.")
    records: Int64 | None = column("How many records the headers of sound ones claim; null if old messages do not say.")
    oldest_timestamp: Int64 | None = column("The oldest timestamp of these, in milliseconds since 1970.")
    newest_timestamp: Int64 | None = column("The newest timestamp of these.")
    magics: list[Int32] = column("The formats of these.")
    codecs: dict[Text, Int64] = column("The bytes of these by codec.")
    saving: Float64 | None = column(
        "How many times as large the measured ones are without compression; null if none was measured."
    )
    largest_batch: Int64 = column("The size of the largest of these.")
    producers: Int64 = column("Producers with an id: in these, or in the newest producer snapshot.")
    open_transactions: Int64 = column("Transactions without a marker, as far as was read.")
    bytes_damaged: Int64 | None = column("Bytes that are damaged; null unless all was read.")
    bytes_zero: Int64 | None = column("Bytes of runs of zeros; null unless all was read.")
    broken_at: Text | None = column("Where something was met first that is no batch, or one that is damaged or out of place.")

    # Not columns: what the savings of topics are added up from.
    measured = uncompressed = 0


class OpenTransaction(Row, kind="open-transaction"):
    """A transaction without a marker, as far as the log was read."""

    path: Text = column("The partition directory.")
    producer_id: Int64 = column("The producer.")
    producer_epoch: Int16 = column("Its epoch.")
    first_offset: Int64 = column("Where the transaction begins, and read-committed consumers wait.")
    timestamp: Int64 | None = column("The timestamp of its first batch, or, by a snapshot, of its last.")
    open_for_ms: Int64 | None = column("How long the log goes on after that.")
    is_certain: Bool = column("Whether all was read in which a marker may be.")
    is_hanging: Bool = column("Whether it is certain, and open for longer than any transaction may last.")


class Group(Row, kind="group"):
    """A group in `__consumer_offsets`, by the last records that are about it."""

    path: Text = column("The partition directory of __consumer_offsets.")
    group: Text = column("The group.")
    type: Text = column("classic, consumer, share or streams.")
    state: Text = column("stable, rebalancing, empty, with-members or offsets-only, by its records.")
    members: Int64 = column("How many members it has.")
    committed: Int64 = column("Of how many partitions it has committed offsets.")


class Unseen(Row, kind="unseen"):
    """Something that could not be looked at."""

    path: Text = column("The path.")
    message: Text = column("Why it could not be looked at.")


class InfoSummary(Row, kind="info-summary"):
    """How much was looked at, and how much of it was read."""

    level: Text = column("How much was read: headers or full.", LEVELS)
    places: Int64 = column("Log directories, partitions and files that were looked at.")
    partitions: Int64 = column("Partition directories in these, and logs that were named themselves.")
    files: Int64 = column("All files.")
    size: Int64 = column("Their sizes, with those of the directories: what `du --apparent-size` says.")
    disk: Int64 = column("What they take on the disk: what `du` says.")
    log_bytes: Int64 = column("The size of all logs.")
    read_bytes: Int64 = column("The size of the batches whose headers were read.")
    unseen: Int64 = column("How much could not be looked at.")
    seconds: Float64 = column("How long it took.")
    exit_code: Int32 = column("The exit code of the command.")


class TriageEvent(Row, kind="event"):
    """One thing that is wrong, or several that are the same. `path` is the first of them."""

    heading: Text = column("What is wrong, in a word or two.", HEADINGS)
    path: Text = column("The partition, the directory or the file; the first of several.")
    places: Int64 = column("How many there are.")
    message: Text = column("What it is.")
    codes: list[Text] = column("The faults of `kdump check` that say so.")
    records: Int64 | None = column("How many records are lost.")
    offset: Int64 | None = column("The offset at which consumers wait.")
    commands: list[Text] = column("What to type, in this order.")

    # Not a column, because it has no annotation: of these only the first is.
    paths = cast("list[str]", [])


class TriageSummary(Row, kind="triage-summary"):
    """The verdict, and how much was read for it."""

    level: Text = column("How much was read: headers, or as for `kdump check`.")
    partitions: Int64 = column("How many partition directories there are.")
    disk: Int64 = column("What everything takes on the disk.")
    log_bytes: Int64 = column("The size of all logs.")
    read_bytes: Int64 = column("The size of the batches whose headers were read, or of what was checked.")
    partitions_not_forecast: Int64 = column("Partitions of which a start scans too much for this level.")
    seconds: Float64 = column("How long it took.")
    exit_code: Int32 = column("The exit code of the command.")
    verdict: Text = column("The verdict, as of a check.")
    reasons: list[Text] = column("Why.")


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
