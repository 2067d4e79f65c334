"""A log directory as a whole: its checkpoints against its partitions, names of directories."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.check import Emit
    from kdump.checks.settings import Settings


def check(path: str, settings: Settings, emit: Emit) -> None:
    """Check the files of the directory itself, and the names of those in it."""
