"""The rows that report what was mended."""

from __future__ import annotations

from kdump.tables import Binary, Bool, Float64, Int32, Int64, Row, Text

REBUILT, CLONED, TO_REMOVE = "rebuilt", "cloned", "to-remove"
ACTIONS = (REBUILT, CLONED, TO_REMOVE)

SAME, DIFFERENT, MISSING = "same", "different", "missing"
BEFORE = (SAME, DIFFERENT, MISSING)


class Companion(Row, kind="companion"):
    """A file of a directory that `kdump reindex` made.

    `path` is the file in the new directory, relative to it. It was `rebuilt` from the log, or `cloned` from the input. A
    file that is `to-remove` is not there: the rebuilt companions do without it, so it must go from the input when they are copied
    beside its logs; only a run without logs has such rows. `before` compares it with the input's file: `same`, except for a zero
    tail of an index, `different` or `missing`; `size_before` is the size there.
    """

    path: Text
    action: Text
    size: Int64
    before: Text
    size_before: Int64 | None


class ReindexSummary(Row, kind="reindex-summary"):
    """The sum of a run of `kdump reindex`: what the new directory holds, and how its rebuilt files compare with the input's.

    `to_remove` files of the input have no place beside the rebuilt ones. They are only counted `without_logs`, where the new
    directory has nothing but rebuilt companions. Partitions are left out if others were chosen.
    """

    path: Text
    partitions: Int64
    segments: Int64
    log_bytes: Int64
    batches: Int64
    rebuilt: Int64
    different: Int64
    missing: Int64
    without_logs: Bool
    to_remove: Int64
    partitions_left_out: Int64
    seconds: Float64
    exit_code: Int32


class SlicedSegment(Row, kind="slice-segment"):
    """What became of one log in a slice.

    `batches` = `outside` + `cloned` + `rewritten` + `emptied` + `dropped`. Records are those of batches that are not outside of
    the range: `records` = `kept` + `out_of_range` + `by_key`. Logs that lie outside of the range are not read, and have no row.
    """

    path: Text | None
    source: Text
    first_offset: Int64 | None
    last_offset: Int64 | None
    batches: Int64
    outside: Int64
    cloned: Int64
    rewritten: Int64
    emptied: Int64
    dropped: Int64
    records: Int64
    kept: Int64
    out_of_range: Int64
    by_key: Int64


class SliceSummary(Row, kind="slice-summary"):
    """The sum of a run of `kdump slice`: what the new directory holds, and what was left out."""

    path: Text
    segments: Int64
    log_start: Int64
    log_end: Int64
    log_bytes: Int64
    batches: Int64
    outside: Int64
    cloned: Int64
    rewritten: Int64
    emptied: Int64
    dropped: Int64
    records: Int64
    kept: Int64
    out_of_range: Int64
    by_key: Int64
    holes: Int64
    offsets_missing: Int64
    seconds: Float64
    exit_code: Int32

    # Without an annotation, this is not a column: only the text report uses it.
    keeps_damage = False


class Recovered(Row, kind="recovered"):
    """Batches that `kdump recover` took over: one row for each log of the new directory and each log that they come from.

    `path` is the new log, relative to the new directory; `source` is the log that was read.
    """

    path: Text
    source: Text
    bytes: Int64
    batches: Int64
    records: Int64
    offset_first: Int64
    offset_last: Int64


class Dropped(Row, kind="dropped"):
    """Bytes from `start` to `end` of a file that `kdump recover` left out. `is_lost` is false for what is also elsewhere.

    Offsets are those that the bytes claim; null if they claim none. `code` is a fault of the catalogue, or empty.
    """

    source: Text
    start: Int64
    end: Int64
    bytes: Int64
    batches: Int64
    records: Int64
    offset_first: Int64 | None
    offset_last: Int64 | None
    is_lost: Bool
    code: Text
    reason: Text


class LostRecord(Row, kind="lost-record"):
    """A record of a batch that `kdump recover` left out and that is lost, as far as it still decodes.

    Its batch starts at `start` of the source. No checksum covers what it says. Of a log, at most 10,000 are listed, of the first
    1,000 such batches.
    """

    source: Text
    start: Int64
    offset: Int64
    timestamp: Int64
    key: Binary | None


class Hole(Row, kind="hole"):
    """Offsets that no batch of the new partition has, where damage was left out, between two logs, or after a log was cut."""

    path: Text
    offset_first: Int64
    offset_last: Int64
    offsets: Int64
    is_damage: Bool
    reason: Text


class Rewritten(Row, kind="rewritten"):
    """A batch that `kdump recover` took over with fields of its header put right; its records are as they were."""

    path: Text
    source: Text
    start: Int64
    bytes: Int64
    batches: Int64
    records: Int64
    offset_first: Int64
    offset_last: Int64
    reason: Text


class RecoverSummary(Row, kind="recover-summary"):
    """The sum of a run of `kdump recover`: what the new directory holds, and what it lacks.

    Dropped batches are those in rows of dropped bytes, as far as their headers could be read. Remaining errors are findings of
    `kdump check` in intact batches that were taken over as they are. Partitions are left out if others were chosen.
    """

    path: Text
    partitions: Int64
    segments: Int64
    bytes: Int64
    batches: Int64
    records: Int64
    rewritten: Int64
    bytes_dropped: Int64
    batches_dropped: Int64
    bytes_lost: Int64
    holes: Int64
    offsets_missing: Int64
    remaining_errors: Int64
    partitions_left_out: Int64
    seconds: Float64
    exit_code: Int32

    # Without an annotation, this is not a column: only the text report uses it.
    replaces = ""  # the partition directory whose place the new one can take


REDACTED, REMAPPED = "redacted", "remapped"
REDACT_ACTIONS = (REDACTED, REMAPPED, CLONED)

INPUT, OUTPUT = "input", "output"
SIDES = (INPUT, OUTPUT)


class RedactedFile(Row, kind="redacted-file"):
    """A file of the input of `kdump redact`, and what became of it.

    Logs are `redacted`, and so are files that are not Kafka's, as a whole. Positions in offset indexes are `remapped` where
    batches have moved; other companions are `cloned`. `filled` counts bytes that were replaced by a
    filler: those of damage, and all behind the header of a batch that is damaged inside.
    """

    path: Text
    action: Text
    size: Int64
    size_before: Int64
    batches: Int64
    records: Int64
    filled: Int64


class RedactDifference(Row, kind="redact-difference"):
    """A finding that `kdump check` has only in the input, or only in the output."""

    path: Text
    code: Text
    offset_first: Int64 | None
    only_in: Text


class RedactSummary(Row, kind="redact-summary"):
    """The sum of a run of `kdump redact`; `findings` are those of `kdump check` in the input."""

    path: Text
    files: Int64
    log_bytes: Int64
    batches: Int64
    records: Int64
    filled: Int64
    findings: Int64
    differences: Int64
    seconds: Float64
    exit_code: Int32


_OF_SLICES = {
    "batches": "The number of batches that were read.",
    "outside": "How many of these hold no records in the range, and end no transaction of the slice.",
    "cloned": "How many are in the slice as they were.",
    "rewritten": "How many were written again with some of their records.",
    "emptied": "How many were written again without records, because they are the last of a producer or of the slice.",
    "dropped": "How many are not in the slice because no record of them was kept.",
    "records": "The number of records in the batches that are not outside of the range.",
    "kept": "How many of these are in the slice.",
    "out_of_range": "How many are not because of their offset or time (with --exact).",
    "by_key": "How many are not because of their key.",
}

_OF_REDACTED = {
    "batches": "The number of batches that were redacted.",
    "records": "The number of records in them that could be read.",
    "filled": "The number of bytes that could not be read, and were replaced by a filler.",
}

DESCRIPTIONS = {
    RedactedFile: {
        "path": "The file, relative to the directory.",
        "action": "What became of it: redacted, remapped or cloned.",
        "size": "Its size in the new directory.",
        "size_before": "Its size in the input.",
        **_OF_REDACTED,
    },
    RedactDifference: {
        "path": "The file, relative to the directory.",
        "code": "The code of the finding.",
        "offset_first": "The first offset that the finding touches; null if it names none.",
        "only_in": "Whether only the input or only the output has the finding.",
    },
    RedactSummary: {
        "path": "The new directory.",
        "files": "The number of files in it.",
        "log_bytes": "The size of its logs.",
        **_OF_REDACTED,
        "findings": "The number of findings of a check of the input.",
        "differences": "The number of findings that only the input or only the output has.",
        "seconds": "How long the run took.",
        "exit_code": "The exit code of the command.",
    },
    SlicedSegment: {
        "path": "The log in the new directory; null if nothing of this log is in the slice.",
        "source": "The log in the input.",
        "first_offset": "The first offset of its first batch in the slice; null if there is none.",
        "last_offset": "The last offset of its last batch in the slice; null if there is none.",
        **_OF_SLICES,
    },
    SliceSummary: {
        "path": "The new directory.",
        "segments": "The number of segments in it.",
        "log_start": "The offset at which it starts.",
        "log_end": "The offset after its last batch.",
        "log_bytes": "The size of its logs.",
        **_OF_SLICES,
        "holes": "The number of gaps in the range that other files know to have held batches.",
        "offsets_missing": "The number of offsets in these gaps.",
        "seconds": "How long the run took.",
        "exit_code": "The exit code of the command.",
    },
    Companion: {
        "path": "The file, relative to the new directory.",
        "action": "Where it comes from: rebuilt from the log, or cloned from the input; to-remove: it must go from the input.",
        "size": "Its size in bytes; 0 if it is to be removed.",
        "before": "How it compares with the input's file: same (except for a zero tail), different or missing.",
        "size_before": "The size of the input's file; null if it is missing.",
    },
    ReindexSummary: {
        "path": "The new directory.",
        "partitions": "The number of partitions.",
        "segments": "The number of segments.",
        "log_bytes": "The size of all logs.",
        "batches": "The number of batches.",
        "rebuilt": "The number of files that were rebuilt.",
        "different": "How many of these differ from the input's file.",
        "missing": "How many of these the input lacks.",
        "without_logs": "Whether the new directory has only what was rebuilt.",
        "partitions_left_out": "The number of partitions of the log directory that --topics and --partitions left out.",
        "to_remove": "How many files are to be removed from the input when the new ones are copied there; counted without logs.",
        "seconds": "How long the run took.",
        "exit_code": "The exit code of the command.",
    },
    Recovered: {
        "path": "The new log, relative to the new directory.",
        "source": "The log that the batches come from.",
        "bytes": "The size of the batches.",
        "batches": "The number of batches; messages of magic 0 and 1 count as batches.",
        "records": "The number of records, with those inside compressed messages of magic 0 and 1.",
        "offset_first": "The first offset.",
        "offset_last": "The last offset.",
    },
    Dropped: {
        "source": "The file that was read.",
        "start": "The first byte that was left out.",
        "end": "The byte after the last one.",
        "bytes": "The number of bytes.",
        "batches": "The number of batches that begin there, if their headers can be read.",
        "records": "The number of records that they claim.",
        "offset_first": "The first offset that they claim; null if none.",
        "offset_last": "The last offset that they claim; null if none.",
        "is_lost": "Whether something may be lost with them; false for duplicates and for files that brokers delete.",
        "code": "The fault: `kdump explain CODE` says more. Empty if it is none.",
        "reason": "Why they were left out, in plain words.",
    },
    Hole: {
        "path": "The partition in the new directory.",
        "offset_first": "The first missing offset.",
        "offset_last": "The last missing offset.",
        "offsets": "The number of missing offsets.",
        "is_damage": "Whether bytes were left out there. Otherwise compaction, retention or an earlier loss explains it.",
        "reason": "What lies there, in plain words.",
    },
    Rewritten: {
        "path": "The new log, relative to the new directory.",
        "source": "The log that the batch comes from.",
        "start": "Where the batch starts there.",
        "bytes": "The size of the batch.",
        "batches": "The number of batches: 1.",
        "records": "The number of its records.",
        "offset_first": "The first offset.",
        "offset_last": "The last offset.",
        "reason": "What was put right, in plain words.",
    },
    RecoverSummary: {
        "path": "The new directory.",
        "partitions": "The number of partitions.",
        "segments": "The number of logs.",
        "bytes": "The size of all logs.",
        "batches": "The number of batches.",
        "records": "The number of records.",
        "rewritten": "The number of batches whose headers were put right.",
        "bytes_dropped": "The number of bytes that were left out.",
        "batches_dropped": "The number of batches among them.",
        "bytes_lost": "The number of these bytes with which something may be lost.",
        "holes": "The number of gaps in the offsets with damage.",
        "offsets_missing": "The number of offsets in these gaps.",
        "partitions_left_out": "The number of partitions of the log directory that --topics and --partitions left out.",
        "remaining_errors": "The number of errors that a check finds in the batches that were taken over.",
        "seconds": "How long the run took.",
        "exit_code": "The exit code of the command.",
    },
}
"""What each column says, for schemas."""
