"""The rows of `kdump where`: what became of a record."""

from __future__ import annotations

from typing import cast

from kdump.tables import Bool, Declared, Int32, Int64, Row, Text, column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PRESENT, ONLY_ON, CONTROL, ABORTED, OPEN = "present", "only-on", "control", "aborted", "open-transaction"
DAMAGED, TRUNCATED, IN_DELETED_FILE = "damaged", "truncated", "present-in-deleted-file"
BELOW_LOG_START, COMPACTED, TOMBSTONE_EXPIRED = "below-log-start", "compacted", "tombstone-expired"
NOT_WRITTEN, NOT_FOUND, MISSING = "not-written", "not-found", "missing"

THERE = (PRESENT, ONLY_ON, CONTROL, ABORTED, OPEN)
"""Answers for records that brokers still have."""

ANSWERS = (
    *THERE,
    DAMAGED,
    TRUNCATED,
    IN_DELETED_FILE,
    BELOW_LOG_START,
    COMPACTED,
    TOMBSTONE_EXPIRED,
    NOT_WRITTEN,
    NOT_FOUND,
    MISSING,
)


class Place(Declared):
    """Where a record stands: a file, and the position of its batch. `is_going` if brokers no longer serve the file.

    `is_found_by_offset` unless the header of the batch does not claim the offset of the record.
    """

    path: str
    position: int
    is_going: bool
    is_found_by_offset: bool


class Fate(Row, kind="fate"):
    """What became of a record, and who has it. What does not apply is null.

    `copies` and `damaged_on` are paths of the command line. `missing_sequences` are sequence numbers that idempotent producers
    skipped, each with `producerId`, `producerEpoch`, `first` and `last`. `also` has further records of the same offset, such as
    one of an older leader epoch, with `answer`, `leaderEpoch` and `copies`.
    """

    topic: Text | None
    partition: Int32 | None
    offset: Int64 | None
    key: Text | None
    answer: Text = column("What became of it; docs/find.md explains each word.", ANSWERS)
    copies: list[Text] = column("The paths that have it intact.")
    damaged_on: list[Text] = column("The paths where the batch is damaged.")
    leader_epoch: Int32 | None = column("The leader epoch of the record.")
    superseded_by: Int64 | None = column("The last offset of the same key that the cleaner knew.")
    tombstone: Bool | None = column("Whether the record has no value.")
    log_start: Int64 | None = column("The log start offset.")
    log_end: Int64 | None = column("The highest log end of all copies.")
    bytes: Bool | None = column("Whether the record below the log start still lies in a segment.")
    missing_sequences: list[dict[Text, Int64]] = column("Sequence numbers that idempotent producers skipped in a whole log.")
    also: list[dict[Text, Text | Int64 | list[Text]]] = column("Further records of this offset.")
    evidence: Text = column("What the answer rests on, and other possibilities.")

    # Without an annotation, these are no columns: the text report and the exit code use them.
    is_certain = True  # unless bytes that cannot be read may have held it
    places = cast("Sequence[Place]", ())
    damaged_in = cast("Sequence[str]", ())  # partition directories
