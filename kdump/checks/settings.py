"""Settings of a check: its level, its limits, and what is known of the topic."""

from __future__ import annotations

import time

from kdump.errors import UsageError
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

QUICK, FULL, DEEP = "quick", "full", "deep"
LEVELS = (QUICK, FULL, DEEP)
"""Headers, lengths and bounds of indexes; also CRCs, indexes against logs, neighbours; also decompression and every record."""

HEADERS = "headers"
"""Less than any level of a check: some headers, without their checksums."""

DEFAULT_LEVEL, SCAN_LEVEL = DEEP, FULL
"""Of `kdump check` and of the library; of tables and scans, which are read by levels for whole fleets."""

DELETE, COMPACT, UNKNOWN = "delete", "compact", "unknown"
CLEANUP_POLICIES = (DELETE, COMPACT, "compact,delete", UNKNOWN)

FILE_TYPES = ("log", "index", "timeindex", "txnindex", "snapshot", "checkpoint")
"""What a file that is named itself may be checked as, whatever it is called."""

MAX_FINDINGS = 1000
"""Of one code in one file, unless the caller says otherwise; further ones are counted."""


def require_level(level: str, levels: Sequence[str] = LEVELS) -> None:
    """Raises UsageError for a level that is none of these."""
    if level not in levels:
        raise UsageError(f"there is no level {level!r}; levels are {', '.join(levels)}")


def current_time() -> int:
    """The time of day, as `Settings.now` is given it: milliseconds since 1970."""
    return int(time.time() * 1000)


class Settings(Declared):
    """Settings of a check. `now` is in milliseconds since 1970, for what depends on the time of day.

    `time_limit` is how many seconds one file may take; None is for as long as it takes. `follows_links` lets a check go where
    symbolic links lead that leave the tree under check. `file_type` is what files are that are named themselves, such as `log`,
    whatever their names say.
    """

    now: int
    level: str = FULL
    cleanup_policy: str = UNKNOWN
    is_pedantic: bool = False
    max_findings: int = MAX_FINDINGS
    max_message_bytes: int = 100 << 20
    max_payload: int = 256 << 20
    time_limit: float | None = None
    follows_links: bool = False
    file_type: str | None = None

    @property
    def reads_payloads(self) -> bool:
        """Whether every record is read."""
        return self.level == DEEP

    @property
    def checks_crcs(self) -> bool:
        """Whether CRCs are computed, and files compared with one another."""
        return self.level != QUICK

    @property
    def may_be_compacted(self) -> bool:
        """Whether missing offsets, sequences and markers are valid."""
        return self.cleanup_policy != DELETE
