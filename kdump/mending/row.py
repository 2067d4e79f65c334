"""The rows that report what was mended."""

from __future__ import annotations

from kdump.tables import Binary, Bool, Float64, Int32, Int64, Row, Text, column

REBUILT, CLONED, TO_REMOVE = "rebuilt", "cloned", "to-remove"
ACTIONS = (REBUILT, CLONED, TO_REMOVE)

SAME, DIFFERENT, MISSING = "same", "different", "missing"
BEFORE = (SAME, DIFFERENT, MISSING)

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


class Companion(Row, kind="companion"):
    """A file of a directory that `kdump reindex` made.

    `path` is the file in the new directory, relative to it. It was `rebuilt` from the log, or `cloned` from the input. A
    file that is `to-remove` is not there: the rebuilt companions do without it, so it must go from the input when they are copied
    beside its logs; only a run without logs has such rows. `before` compares it with the input's file: `same`, except for a zero
    tail of an index, `different` or `missing`; `size_before` is the size there.
    """

    path: Text = column("The file, relative to the new directory.")
    action: Text = column(
        "Where it comes from: rebuilt from the log, or cloned from the input; to-remove: it must go from the input.", ACTIONS
    )
    size: Int64 = column("Its size in bytes; 0 if it is to be removed.")
    before: Text = column("How it compares with the input's file: same (except for a zero tail), different or missing.", BEFORE)
    size_before: Int64 | None = column("The size of the input's file; null if it is missing.")


class ReindexSummary(Row, kind="reindex-summary"):
    """The sum of a run of `kdump reindex`: what the new directory holds, and how its rebuilt files compare with the input's.

    `to_remove` files of the input have no place beside the rebuilt ones. They are only counted `without_logs`, where the new
    directory has nothing but rebuilt companions. Partitions are left out if others were chosen.
    """

    path: Text = column("The new directory.")
    partitions: Int64 = column("The number of partitions.")
    segments: Int64 = column("The number of segments.")
    log_bytes: Int64 = column("The size of all logs.")
    batches: Int64 = column("The number of batches.")
    rebuilt: Int64 = column("The number of files that were rebuilt.")
    different: Int64 = column("How many of these differ from the input's file.")
    missing: Int64 = column("How many of these the input lacks.")
    without_logs: Bool = column("Whether the new directory has only what was rebuilt.")
    to_remove: Int64 = column(
        "How many files are to be removed from the input when the new ones are copied there; counted without logs."
    )
    partitions_left_out: Int64 = column("The number of partitions of the log directory that --topics and --partitions left out.")
    seconds: Float64 = column("How long the run took.")
    exit_code: Int32 = column("The exit code of the command.")


class SlicedSegment(Row, kind="slice-segment"):
    """What became of one log in a slice.

    `batches` = `outside` + `cloned` + `rewritten` + `emptied` + `dropped`. Records are those of batches that are not outside of
    the range: `records` = `kept` + `out_of_range` + `by_key`. Logs that lie outside of the range are not read, and have no row.
    """

    path: Text | None = column("The log in the new directory; null if nothing of this log is in the slice.")
    source: Text = column("The log in the input.")
    first_offset: Int64 | None = column("The first offset of its first batch in the slice; null if there is none.")
    last_offset: Int64 | None = column("The last offset of its last batch in the slice; null if there is none.")
    batches: Int64 = column(_OF_SLICES["batches"])
    outside: Int64 = column(_OF_SLICES["outside"])
    cloned: Int64 = column(_OF_SLICES["cloned"])
    rewritten: Int64 = column(_OF_SLICES["rewritten"])
    emptied: Int64 = column(_OF_SLICES["emptied"])
    dropped: Int64 = column(_OF_SLICES["dropped"])
    records: Int64 = column(_OF_SLICES["records"])
    kept: Int64 = column(_OF_SLICES["kept"])
    out_of_range: Int64 = column(_OF_SLICES["out_of_range"])
    by_key: Int64 = column(_OF_SLICES["by_key"])


class SliceSummary(Row, kind="slice-summary"):
    """The sum of a run of `kdump slice`: what the new directory holds, and what was left out."""

    path: Text = column("The new directory.")
    segments: Int64 = column("The number of segments in it.")
    log_start: Int64 = column("The offset at which it starts.")
    log_end: Int64 = column("The offset after its last batch.")
    log_bytes: Int64 = column("The size of its logs.")
    batches: Int64 = column(_OF_SLICES["batches"])
    outside: Int64 = column(_OF_SLICES["outside"])
    cloned: Int64 = column(_OF_SLICES["cloned"])
    rewritten: Int64 = column(_OF_SLICES["rewritten"])
    emptied: Int64 = column(_OF_SLICES["emptied"])
    dropped: Int64 = column(_OF_SLICES["dropped"])
    records: Int64 = column(_OF_SLICES["records"])
    kept: Int64 = column(_OF_SLICES["kept"])
    out_of_range: Int64 = column(_OF_SLICES["out_of_range"])
    by_key: Int64 = column(_OF_SLICES["by_key"])
    holes: Int64 = column("The number of gaps in the range that other files know to have held batches.")
    offsets_missing: Int64 = column("The number of offsets in these gaps.")
    seconds: Float64 = column("How long the run took.")
    exit_code: Int32 = column("The exit code of the command.")

    # Without an annotation, this is not a column: only the text report uses it.
    keeps_damage = False


class Recovered(Row, kind="recovered"):
    """Batches that `kdump recover` took over: one row for each log of the new directory and each log that they come from.

    `path` is the new log, relative to the new directory; `source` is the log that was read.
    """

    path: Text = column("The new log, relative to the new directory.")
    source: Text = column("The log that the batches come from.")
    bytes: Int64 = column("The size of the batches.")
    batches: Int64 = column("The number of batches; messages of magic 0 and 1 count as batches.")
    records: Int64 = column("The number of records, with those inside compressed messages of magic 0 and 1.")
    offset_first: Int64 = column("The first offset.")
    offset_last: Int64 = column("The last offset.")


class Dropped(Row, kind="dropped"):
    """Bytes from `start` to `end` of a file that `kdump recover` left out. `is_lost` is false for what is also elsewhere.

    Offsets are those that the bytes claim; null if they claim none. `code` is a fault of the catalogue, or empty.
    """

    source: Text = column("The file that was read.")
    start: Int64 = column("The first byte that was left out.")
    end: Int64 = column("The byte after the last one.")
    bytes: Int64 = column("The number of bytes.")
    batches: Int64 = column("The number of batches that begin there, if their headers can be read.")
    records: Int64 = column("The number of records that they claim.")
    offset_first: Int64 | None = column("The first offset that they claim; null if none.")
    offset_last: Int64 | None = column("The last offset that they claim; null if none.")
    is_lost: Bool = column("Whether something may be lost with them; false for duplicates and for files that brokers delete.")
    code: Text = column("The fault: `kdump explain CODE` says more. Empty if it is none.")
    reason: Text = column("Why they were left out, in plain words.")


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

    path: Text = column("The partition in the new directory.")
    offset_first: Int64 = column("The first missing offset.")
    offset_last: Int64 = column("The last missing offset.")
    offsets: Int64 = column("The number of missing offsets.")
    is_damage: Bool = column("Whether bytes were left out there. Otherwise compaction, retention or an earlier loss explains it.")
    reason: Text = column("What lies there, in plain words.")


class Rewritten(Row, kind="rewritten"):
    """A batch that `kdump recover` took over with fields of its header put right; its records are as they were."""

    path: Text = column("The new log, relative to the new directory.")
    source: Text = column("The log that the batch comes from.")
    start: Int64 = column("Where the batch starts there.")
    bytes: Int64 = column("The size of the batch.")
    batches: Int64 = column("The number of batches: 1.")
    records: Int64 = column("The number of its records.")
    offset_first: Int64 = column("The first offset.")
    offset_last: Int64 = column("The last offset.")
    is_assumed: Bool = column("Whether what was put right is only likely, so that somebody who knows should say.")
    reason: Text = column("What was put right, in plain words.")


class RecoverSummary(Row, kind="recover-summary"):
    """The sum of a run of `kdump recover`: what the new directory holds, and what it lacks.

    Dropped batches are those in rows of dropped bytes, as far as their headers could be read. Remaining errors are findings of
    `kdump check` in intact batches that were taken over as they are. Partitions are left out if others were chosen.
    """

    path: Text = column("The new directory.")
    partitions: Int64 = column("The number of partitions.")
    segments: Int64 = column("The number of logs.")
    bytes: Int64 = column("The size of all logs.")
    batches: Int64 = column("The number of batches.")
    records: Int64 = column("The number of records.")
    rewritten: Int64 = column("The number of batches whose headers were put right.")
    bytes_dropped: Int64 = column("The number of bytes that were left out.")
    batches_dropped: Int64 = column("The number of batches among them.")
    bytes_lost: Int64 = column("The number of these bytes with which something may be lost.")
    holes: Int64 = column("The number of gaps in the offsets with damage.")
    offsets_missing: Int64 = column("The number of offsets in these gaps.")
    are_more_missing: Bool = column("Whether there may be more: nothing says how many were in bytes lost at the end of a log.")
    remaining_errors: Int64 = column("The number of errors that a check finds in what was taken over.")
    partitions_left_out: Int64 = column("The number of partitions of the log directory that --topics and --partitions left out.")
    seconds: Float64 = column("How long the run took.")
    exit_code: Int32 = column("The exit code of the command.")

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

    path: Text = column("The file, relative to the directory.")
    action: Text = column("What became of it: redacted, remapped or cloned.", REDACT_ACTIONS)
    size: Int64 = column("Its size in the new directory.")
    size_before: Int64 = column("Its size in the input.")
    batches: Int64 = column(_OF_REDACTED["batches"])
    records: Int64 = column(_OF_REDACTED["records"])
    filled: Int64 = column(_OF_REDACTED["filled"])


class RedactDifference(Row, kind="redact-difference"):
    """A finding that `kdump check` has only in the input, or only in the output."""

    path: Text = column("The file, relative to the directory.")
    code: Text = column("The code of the finding.")
    offset_first: Int64 | None = column("The first offset that the finding touches; null if it names none.")
    only_in: Text = column("Whether only the input or only the output has the finding.", SIDES)


class RedactSummary(Row, kind="redact-summary"):
    """The sum of a run of `kdump redact`; `findings` are those of `kdump check` in the input."""

    path: Text = column("The new directory.")
    files: Int64 = column("The number of files in it.")
    log_bytes: Int64 = column("The size of its logs.")
    batches: Int64 = column(_OF_REDACTED["batches"])
    records: Int64 = column(_OF_REDACTED["records"])
    filled: Int64 = column(_OF_REDACTED["filled"])
    findings: Int64 = column("The number of findings of a check of the input.")
    differences: Int64 = column("The number of findings that only the input or only the output has.")
    seconds: Float64 = column("How long the run took.")
    exit_code: Int32 = column("The exit code of the command.")
