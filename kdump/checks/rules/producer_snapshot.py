"""Producer snapshots, alone and against the log up to their offset."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext


def check(context: FileContext) -> None:
    """Check one file; every byte of it is entered into its account."""
