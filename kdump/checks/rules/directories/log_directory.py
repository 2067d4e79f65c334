"""A log directory as a whole: the names of its directories, and the topic ids of its partitions."""

from __future__ import annotations

from kdump.checks.rules.directories import names
from kdump.checks.rules.snapshots import topic_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Emit
    from kdump.checks.settings import Settings


def check(path: str, settings: Settings, emit: Emit) -> None:
    """Check what no file and no partition shows alone. The files of the directory itself have been checked by now."""
    names.check_directories(path, settings, emit)
    if settings.checks_crcs:
        topic_ids.check(path, settings, emit)
