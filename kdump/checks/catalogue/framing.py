"""Faults of segments' framing and of batch headers."""

from __future__ import annotations

from kdump.checks.catalogue.entry import CUT, FaultKind
from kdump.checks.finding import ERROR

FAULTS = (
    FaultKind(
        "torn-tail",
        ERROR,
        CUT,
        "the last batch reaches past the end of the file.",
        cause="a crash, power loss or kill -9 in mid append, a full disk, or a copy of a segment that was being written",
        kafka="its tool says that invalid bytes are at the end; a broker that scans the segment cuts it there",
        loss="this one batch; records that are whole in it can be salvaged if it is not compressed",
        remedy="nothing, if a broker was writing to it; otherwise compare with another replica",
        see=("torn-header", "batch-length-absurd", "active-tail"),
    ),
    FaultKind(
        "torn-header",
        ERROR,
        CUT,
        "the file ends in fewer bytes than a batch header.",
        cause="as of a torn tail: an append that was not finished, or a cut copy",
        kafka="its tool says that invalid bytes are at the end; a broker that scans the segment cuts it there",
        loss="one batch that had just been begun",
        remedy="nothing, if a broker was writing to it; otherwise compare with another replica",
        see=("torn-tail",),
    ),
    FaultKind(
        "crc-mismatch",
        ERROR,
        CUT,
        "the checksum of a batch does not fit its bytes.",
        cause="bit rot, a torn or stale page after a crash, bad memory, a batch that came corrupt to the broker (KAFKA-8722)",
        kafka="its tool prints isvalid: false and exits 0; a broker that scans the segment cuts it here, and deletes later ones",
        loss="the records of this batch, perhaps only one of them; `kdump log --deep --from-position N` shows what decodes",
        remedy="compare with another replica; keep a copy; let a healthy replica serve, delete and re-replicate this one",
        see=("batch-length-mismatch", "uncovered-header-rot"),
    ),
)
