"""What rules hand on from one segment of a partition to the next, and to the files that are checked after them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.producers import Producers
    from kdump.checks.segment_facts import SegmentFacts


class CarriedState:
    """The highest leader epoch so far, the producers, and the facts about logs that end in .swap, by base offset.

    `leader_epoch` and `producers` are None before the first segment.
    """

    def __init__(self) -> None:
        self.leader_epoch: int | None = None
        self.producers: Producers | None = None
        self.swapped_logs: dict[int, SegmentFacts] = {}
