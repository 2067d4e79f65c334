"""A log directory as a whole: the names of its directories, what is missing, and the topic ids of its partitions."""

from __future__ import annotations

from kdump.checks.rules.directories import missing_partitions, names, offset_checkpoints
from kdump.checks.rules.snapshots import topic_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Emit
    from kdump.checks.settings import Settings


def check(path: str, settings: Settings, emit: Emit) -> None:
    """Check what no file and no partition shows alone. The files of the directory itself have been checked by now."""
    names.check_directories(path, settings, emit)
    offset_checkpoints.check_directory(path, settings, emit)
    missing_partitions.check(path, settings, emit)
    if settings.checks_crcs:
        topic_ids.check(path, settings, emit)
