"""What is known of a partition while its files are checked, one after the other."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kdump.checks.check import Emit
    from kdump.checks.segment import SegmentFacts
    from kdump.checks.settings import Settings
    from kdump.checks.tree import PartitionFiles


class PartitionFacts:
    """The files of a partition, and what its segments said so far, by base offset, in ascending order.

    `carried` is what rules hand on from segment to segment, by the name of their module: the state of producers, the last offset.
    """

    def __init__(self, path: str, files: PartitionFiles, settings: Settings, emit: Emit) -> None:
        self.path = path
        self.files = files
        self.settings = settings
        self.emit = emit
        self.segments: dict[int, SegmentFacts] = {}
        self.carried: dict[str, Any] = {}  # each rule's own type
