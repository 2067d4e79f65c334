"""What a check is told: how deep to go, and what is known of the topic."""

from __future__ import annotations

QUICK, FULL, DEEP = "quick", "full", "deep"
LEVELS = (QUICK, FULL, DEEP)
"""Headers, lengths and bounds of indexes; also CRCs, indexes against logs, neighbours; also decompression and every record."""

DELETE, COMPACT, UNKNOWN = "delete", "compact", "unknown"
CLEANUP_POLICIES = (DELETE, COMPACT, "compact,delete", UNKNOWN)

MAX_FINDINGS = 1000
"""Of one code in one file, unless the caller says otherwise; further ones are counted."""


class Settings:
    """How a check goes about. `now` is in milliseconds since 1970, for what depends on the time of day."""

    __slots__ = ("cleanup_policy", "is_pedantic", "level", "max_findings", "max_message_bytes", "max_payload", "now")

    def __init__(
        self,
        *,
        now: int,
        level: str = FULL,
        cleanup_policy: str = UNKNOWN,
        is_pedantic: bool = False,
        max_findings: int = MAX_FINDINGS,
        max_message_bytes: int = 100 << 20,
        max_payload: int = 256 << 20,
    ) -> None:
        self.level = level
        self.cleanup_policy = cleanup_policy
        self.is_pedantic = is_pedantic
        self.max_findings = max_findings
        self.max_message_bytes = max_message_bytes
        self.max_payload = max_payload
        self.now = now

    @property
    def reads_payloads(self) -> bool:
        """Whether every record is looked at."""
        return self.level == DEEP

    @property
    def checks_crcs(self) -> bool:
        """Whether CRCs are computed, and files compared with one another."""
        return self.level != QUICK

    @property
    def may_be_compacted(self) -> bool:
        """Whether offsets, sequences and markers may lawfully be missing."""
        return self.cleanup_policy != DELETE
