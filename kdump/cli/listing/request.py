"""What a command line asks for: files of one suffix, a form of output, ranges and limits."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from kdump.errors import UsageError
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.releases.profile import profile_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS = re.compile(r"-?[0-9]{9,19}")  # fewer digits may be a date


class Request:
    """One invocation of a command. Raises UsageError for a release or a time that does not exist."""

    def __init__(
        self,
        suffix: str,
        *,
        paths: Sequence[str],
        release: str,
        output: str = "kafka",
        limit: int | None = None,
        strict_stderr: bool = False,
        from_offset: int | None = None,
        to_offset: int | None = None,
        from_time: str | None = None,
        to_time: str | None = None,
        from_position: int | None = None,
        is_deep: bool = False,
        prints_data: bool = False,
        skips_metadata: bool = False,
        key_decoder: str = "string",
        value_decoder: str = "string",
        keep_going: bool = True,
    ) -> None:
        self.suffix = suffix
        self.paths = paths
        self.output = output
        self.profile = profile_of(release)
        self.limit = limit
        self.is_strict = strict_stderr
        self.from_offset = from_offset
        self.to_offset = to_offset
        self.from_time = None if from_time is None else _milliseconds(from_time, is_end=False)
        self.to_time = None if to_time is None else _milliseconds(to_time, is_end=True)
        self.from_position = from_position
        self.is_deep = is_deep or prints_data
        self.prints_data = prints_data
        self.skips_metadata = skips_metadata
        self.decoders = (key_decoder, value_decoder)
        self.keep_going = keep_going

    @property
    def has_range(self) -> bool:
        """Whether only a part of what there is by offset or time is asked for."""
        return any(bound is not None for bound in (self.from_offset, self.to_offset, self.from_time, self.to_time))

    def holds_offsets(self, first: int | None, last: int) -> bool:
        """Whether something with these offsets may hold what is asked for; None is not known."""
        return (self.from_offset is None or last >= self.from_offset) and (
            self.to_offset is None or first is None or first <= self.to_offset
        )

    def holds_times(self, first: int | None, last: int) -> bool:
        """Whether something with these timestamps may hold what is asked for; None is not known.

        What has no timestamp is of no time.
        """
        if self.from_time is None and self.to_time is None:
            return True
        return (
            last != NO_TIMESTAMP
            and (self.from_time is None or last >= self.from_time)
            and (self.to_time is None or first is None or first <= self.to_time)
        )


def _milliseconds(text: str, *, is_end: bool) -> int:
    """A time as milliseconds since 1970; a date alone means its start, or its end."""
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    try:
        day = date.fromisoformat(text)
        moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
        length = 86_400_000 - 1 if is_end else 0
    except ValueError:
        length = 0
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"'{text}' is no time; write 2026-11-20, 2026-11-20T13:45:00 or milliseconds since 1970")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1) + length
