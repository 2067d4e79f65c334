"""The fields of a producer's streak, as the kernels report it: consecutive batches whose sequences follow one another."""

from __future__ import annotations

from struct import Struct

STREAK = (
    *("producer_id", "epoch", "kind", "base_sequence", "last_sequence", "base_offset", "position", "end"),
    *("last_base_offset", "last_offset", "control_type", "coordinator_epoch"),
    *("commits", "first_coordinator_epoch", "commit_offset", "is_open"),
)
"""What is known of a streak: its `kind`, one of those below, the first and last sequence, of its first batch the first offset and
where it starts and ends, of its last batch the first and the last offset; of a marker its type and the coordinator's epoch.

A transactional streak goes on after its `commits`, of whose markers it has the first and the last epoch of the coordinator,
and the offset of the last. What is known of its first batch is that of the first after the last commit, if it `is_open`: if
there is one.
"""

(
    PRODUCER_ID,
    EPOCH,
    KIND,
    BASE_SEQUENCE,
    LAST_SEQUENCE,
    BASE_OFFSET,
    POSITION,
    END,
    LAST_BASE_OFFSET,
    LAST_OFFSET,
    CONTROL_TYPE,
    COORDINATOR_EPOCH,
    COMMITS,
    FIRST_COORDINATOR_EPOCH,
    COMMIT_OFFSET,
    IS_OPEN,
) = range(len(STREAK))
"""The places of these fields in a streak."""

PLAIN, TRANSACTIONAL, EMPTY_TRANSACTIONAL, MARKER = range(4)

LAYOUT = Struct(f"={len(STREAK)}q")
