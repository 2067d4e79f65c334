"""The events of a start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.recovery import Cut


class Events:
    """The events of a start, by base offset of the segment, and whether the broker logs them."""

    def __init__(self) -> None:
        self.scanned: list[int] = []
        self.rescanned: dict[int, str] = {}
        self.rescan_cuts: dict[int, Cut] = {}
        self.cut: dict[int, Cut] = {}
        self.wiped: dict[int, str] = {}
        self.split: list[int] = []
        self.deleted_behind_cut: list[int] = []
        self.deleted_all: list[int] = []
        self.deleted_by_swap: list[int] = []
        self.swapped_in: list[int] = []
        self.tells_of_rescan = False
        self.tells_of_deletion = False
