"""The rows that report what was mended."""

from __future__ import annotations

from kdump.tables import Float64, Int32, Int64, Row, Text

REBUILT, CLONED = "rebuilt", "cloned"
ACTIONS = (REBUILT, CLONED)

SAME, DIFFERENT, MISSING = "same", "different", "missing"
BEFORE = (SAME, DIFFERENT, MISSING)


class Companion(Row, kind="companion"):
    """A file of a directory that `kdump reindex` made.

    `path` is the file in the new directory, relative to it. It was `rebuilt` from the log, or `cloned` from the input. `before`
    compares it with the input's file: `same`, except for a zero tail of an index, `different` or `missing`; `size_before` is the
    size there.
    """

    path: Text
    action: Text
    size: Int64
    before: Text
    size_before: Int64 | None


class ReindexSummary(Row, kind="reindex-summary"):
    """The sum of a run of `kdump reindex`: what the new directory holds, and how its rebuilt files compare with the input's."""

    path: Text
    partitions: Int64
    segments: Int64
    log_bytes: Int64
    batches: Int64
    rebuilt: Int64
    different: Int64
    missing: Int64
    seconds: Float64
    exit_code: Int32


DESCRIPTIONS = {
    Companion: {
        "path": "The file, relative to the new directory.",
        "action": "Where it comes from: rebuilt from the log, or cloned from the input.",
        "size": "Its size in bytes.",
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
        "seconds": "How long the run took.",
        "exit_code": "The exit code of the command.",
    },
}
"""What each column says, for schemas."""
