"""Times as people write them: on command lines, and in options of the pipeline."""

from __future__ import annotations

from kdump.errors import UsageError

_DIGITS = range(9, 20)  # of milliseconds; fewer may be a date


def milliseconds(text: str, *, is_end: bool) -> int:
    """A time as milliseconds since 1970; a date alone means its start, or its end. Raises UsageError."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) in _DIGITS:
        return int(text)
    from datetime import UTC, date, datetime, timedelta

    try:
        day = date.fromisoformat(text)
        moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
        length = 86_400_000 - 1 if is_end else 0
    except ValueError:
        length = 0
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"'{text}' is not a time; write 2026-11-20, 2026-11-20T13:45:00 or milliseconds since 1970")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) + length


def bounds(earliest: str | None, latest: str | None) -> tuple[int | None, int | None]:
    """The first and the last millisecond of a range of times; None is open. Raises UsageError."""
    first = None if earliest is None else milliseconds(earliest, is_end=False)
    return first, None if latest is None else milliseconds(latest, is_end=True)
