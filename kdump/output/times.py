"""Times as people write them: on command lines, and in options of the pipeline."""

from __future__ import annotations

import time

from kdump.errors import UsageError

_DIGITS = range(9, 20)  # of milliseconds; fewer may be a date
_DAY = 86_400_000
_DAYS = {"today": 0, "yesterday": 1}
_UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": _DAY, "w": 7 * _DAY}


def milliseconds(text: str, *, is_end: bool) -> int:
    """A time as milliseconds since 1970; a date alone means its start, or its end. Raises UsageError."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) in _DIGITS:
        return int(text)
    from datetime import UTC, date, datetime, timedelta

    try:
        day = date.fromisoformat(text)
        moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
        length = _DAY - 1 if is_end else 0
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
    """The first and the last millisecond of a range of times on a command line; None is open.

    Beside times, it takes `now`, `today` and `yesterday` (days of UTC), and lengths of time before now, such as `90s`, `2h` and
    `7d`. Raises UsageError, also for a range that ends before it begins.
    """
    now = time.time_ns() // 1_000_000
    first = None if earliest is None else _since(earliest, now, is_end=False)
    last = None if latest is None else _since(latest, now, is_end=True)
    if first is not None and last is not None and first > last:
        raise UsageError(f"the range of times ends before it begins: {earliest} to {latest}")
    return first, last


def _since(text: str, now: int, *, is_end: bool) -> int:
    word = text.strip().lower()
    if word == "now":
        return now
    if word in _DAYS:
        start = now - now % _DAY - _DAYS[word] * _DAY
        return start + _DAY - 1 if is_end else start
    number, unit = word[:-1], word[-1:]
    if unit in _UNITS and number.isascii() and number.isdecimal():
        return now - int(number) * _UNITS[unit]
    return milliseconds(text, is_end=is_end)
