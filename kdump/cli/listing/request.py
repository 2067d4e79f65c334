"""What a command line asks for: files of one suffix, a form of output, ranges and limits."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from kdump.cli.listing import decoder_names
from kdump.errors import UsageError
from kdump.formats.record_batch import NO_TIMESTAMP
from kdump.releases.profile import profile_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS = re.compile(r"-?[0-9]{9,19}")  # fewer digits may be a date


EXPORTS = ("parquet", "arrow")
"""Forms of output that are files, not text."""


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
        tail: int | None = None,
        offset: int | None = None,
        is_deep: bool = False,
        prints_data: bool = False,
        skips_metadata: bool = False,
        decode: str | None = None,
        key_decoder: str | None = None,
        value_decoder: str | None = None,
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
        self.tail = tail
        self.offset = offset
        self._take_one_offset(limit)
        self.skips_metadata = skips_metadata
        self._take_decoders(decode, key_decoder, value_decoder)
        asks_for_data = prints_data or decode not in (None, decoder_names.NONE)
        self.is_deep = is_deep or asks_for_data
        self.prints_data = asks_for_data
        self.keep_going = keep_going

    def _take_one_offset(self, limit: int | None) -> None:
        """`offset` is a range of its own, and `tail` has none. Raises UsageError where there are others beside them."""
        for name, value in (("--tail", self.tail), ("--offset", self.offset)):
            if value is not None and (self.has_range or self.from_position is not None or name == "--tail" and limit is not None):
                raise UsageError(f"{name} says what is listed", remedy="leave out --from-..., --to-... and --limit")
        if self.tail is not None and self.offset is not None:
            raise UsageError("--tail and --offset do not go together")
        if self.offset is not None:
            self.from_offset = self.to_offset = self.offset

    def _take_decoders(self, decode: str | None, key_decoder: str | None, value_decoder: str | None) -> None:
        """What keys and values go through: `decode` is a name of decoder_names.NAMES, `decoders` are the plain ones beneath.

        Kafka's lines have keys and values as they are unless something else is asked for, as in Kafka; other forms of output
        show what the records of an internal topic say.
        """
        is_plain = key_decoder is not None or value_decoder is not None
        if is_plain and decode not in (None, decoder_names.NONE):
            raise UsageError(f"--decode {decode} decodes keys and values", remedy="leave out --key-decoder and --value-decoder")
        if decode in decoder_names.PLAIN:
            key_decoder = value_decoder = decode
        self.says_decoder = decode == decoder_names.AUTO and self.output not in EXPORTS  # asked for, not by default
        self.decoders = (key_decoder or "string", value_decoder or "string")
        default = decoder_names.NONE if self.output == "kafka" else decoder_names.AUTO
        self.decode = decode if decode is not None else "string" if is_plain else default
        option = decoder_names.OPTIONS.get(self.decode)
        if self.output == "kafka" and option is not None and option not in self.profile.topic_decoders:
            raise UsageError(decoder_names.no_words(self.profile, self.decode), remedy="--output ndjson decodes for any release")

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
