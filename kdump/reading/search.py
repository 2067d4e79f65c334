"""Searches a log byte by byte for the next intact batch: a pattern finds candidates, and a CRC that fits decides."""

from __future__ import annotations

from kdump.binary import kernel, zeros
from kdump.binary.batch_header import (
    BATCH_HEADER_SIZE,
    CRC_COVERS_FROM,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MESSAGE_CRC_COVERS_FROM,
    MESSAGE_HEADER_SIZE,
    batch_size,
    stored_crc,
)
from kdump.binary.checksums import crc32, crc32c_for, of_range
from kdump.reading.plausible import (
    contents_in_header,
    holds_header,
    is_likely,
    is_plausible,
    is_size_of_value,
    may_be_header,
    value_size_at,
)
from kdump.reading.tuning import DEFAULT
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from kdump.binary.checksums import Checksum
    from kdump.binary.source import Readable, SizedReadable
    from kdump.reading.tuning import ReadTuning

NOWHERE = -1

FIRST_WINDOW = 64 << 10
"""Bytes that `first_batch` searches first; it takes eight times as many where these hold no whole batch."""

_MAX_WINDOW = 4 << 20
_WINDOW_CRC_BYTES = 8 << 20  # fed to checksums for one window

SMALLEST_DOUBTFUL = 512
"""Bytes beyond which what looks like a batch is doubted if another one starts inside its header."""

SMALL_BATCH_TIMES = 16
"""How often each byte of a log may be fed to the checksums of small batches: where damage and small batches alternate, often."""

SMALL_BATCH_SIZE = 16 << 10
"""Bytes up to which a batch is small: its checksum costs no more than a look at what speaks for it."""

_FEW_UNDECIDED = 4  # in a window: more are decided by the kernel, with more bytes
_ROOM_TO_DECIDE = SMALL_BATCH_SIZE + 2 * BATCH_HEADER_SIZE  # after a candidate: what may start inside its header is whole there
_CRC_BYTES_PER_BYTE = 4  # fed to checksums for each byte searched
_ANY_NUMBER = 1 << 62
_BYTES_PER_TRY = 8  # searched for each header examined
_TRIES_FOR_LARGE = 32  # what a look at the evidence for a large batch costs, in headers that are only looked at


class Candidates(Declared):
    """Which bytes are a candidate for the start of a batch, until its CRC is computed.

    `pattern` is a regular expression that matches the magic of a header of at least 26 bytes. `may_be` decides, given the bytes
    of the header and the number of bytes left in the log. `is_any_whole` says the same to the kernel in C: whether any
    batch will do that is whole in the log; None if it does not know these candidates.
    """

    pattern: bytes
    may_be: Callable[[bytes, int], bool]
    is_any_whole: bool | None = None


PLAUSIBLE = Candidates(
    # the magic at byte 16, and before it an offset >= 0 and a length below LONGEST_BATCH that is not zero;
    # after it of magic 2 a CRC and attributes, of 0 and 1 attributes
    rb"(?s)[\x00-\x02](?<=[\x00-\x7f].{7}[\x00-\x07].{7}.)(?<!\x00{4}.{5})"
    rb"(?:(?<=\x02)(?=.{4}\x00[\x00-\x7f])|(?<=[\x00\x01])(?=[\x00-\x0f]))",
    may_be_header,
    is_any_whole=False,
)
"""Headers all of whose fields are plausible; those of small batches, if only their CRC fits."""

WHOLE = Candidates(
    # the magic at byte 16, and before it an offset >= 0 and a length that is no more than some 100 MiB, and not zero
    rb"(?s)[\x00-\x02](?<=[\x00-\x7f].{7}[\x00-\x07].{7}.)(?<!\x00{4}.{5})",
    holds_header,
    is_any_whole=True,
)
"""Headers of batches that are whole in the log, whatever their other fields say."""

_BATCHES = Candidates(rb"(?s)\x02(?<=.{17})(?=.{4}\x00[\x00-\x7f])", holds_header)
_MESSAGES = Candidates(rb"(?s)[\x00\x01](?<=.{17})(?=[\x00-\x0f])", holds_header)


class Budget:
    """Limits the bytes a search feeds to checksums without success, and the headers it examines, by what it searches.

    Bytes whose checksum fits cost nothing. Hostile bytes full of headers exhaust it, wherever they lead. `kept_crc_bytes` are
    reserved for small batches whose fields fit together, and `kept_for_likely` also for large ones that `evidence` calls likely,
    so that what only looks like a header cannot use up everything. `gave_up` says that something was skipped because the budget
    was exhausted.
    """

    def __init__(self, crc_bytes: int, tries: int = _ANY_NUMBER, *, kept_crc_bytes: int = 0, kept_for_likely: int = 0) -> None:
        self.crc_bytes = crc_bytes + kept_crc_bytes + kept_for_likely
        self.kept_crc_bytes = kept_crc_bytes
        self.kept_for_likely = kept_for_likely
        self.tries = tries
        self.gave_up = False

    def take_gave_up(self) -> bool:
        """Whether anything was skipped since the last call."""
        gave_up, self.gave_up = self.gave_up, False
        return gave_up

    def earn(self, searched: int) -> None:
        """Record that this many bytes were searched."""
        self.crc_bytes += searched * _CRC_BYTES_PER_BYTE
        self.tries += searched // _BYTES_PER_TRY

    def take_tries(self, count: int = 1) -> bool:
        """Whether another header may be examined, at the price of this number."""
        if self.tries < count:
            self.gave_up = True
            return False
        self.tries -= count
        return True

    def spend(self, size: int, *, is_likely: bool = True) -> bool:
        """Whether this many bytes may be fed to a checksum, which is likely to fit or not."""
        kept = self.kept_crc_bytes if size > SMALL_BATCH_SIZE or not is_likely else 0
        if size > self.crc_bytes - kept - (0 if is_likely else self.kept_for_likely):
            self.gave_up = True
            return False
        self.crc_bytes -= size
        return True

    def refund(self, size: int) -> None:
        """Give back what was spent on bytes whose checksum fits."""
        self.crc_bytes += size


class _FixedBudget(Budget):
    """A fixed number of bytes, however many are searched; the batch that uses up the last of them is still checked."""

    def earn(self, searched: int) -> None:
        pass

    def spend(self, size: int, *, is_likely: bool = True) -> bool:
        is_left = self.crc_bytes > 0
        self.crc_bytes -= size
        return is_left

    def refund(self, size: int) -> None:
        pass


def evidence(source: SizedReadable, position: int, header_bytes: bytes) -> int:
    """How much speaks for a batch with this header, but its checksum: 0 if it is none, 1 for its fields or its end, 2 for both.

    A message of magic 0 or 1 ends where its value does. A batch leads to the header of the next one or to the end of the log;
    zeros may follow one whose fields fit together. Random bytes pass this so rarely that all of them cost less than one checksum
    over the log.
    """
    if header_bytes[MAGIC_AT] < 2:
        if not is_likely(header_bytes):
            return 0
        return 2 * is_size_of_value(header_bytes, source.read(position + value_size_at(header_bytes), 4))
    has_fields = is_likely(header_bytes)
    end = position + batch_size(header_bytes)
    following = source.read(end, BATCH_HEADER_SIZE)
    leads_on = len(following) < BATCH_HEADER_SIZE or is_plausible(following, source.size - end)
    return has_fields + (leads_on or has_fields and not any(following))


class Search:
    """Looks for intact batches in a log, within a budget that several searches may share."""

    def __init__(
        self,
        source: SizedReadable,
        budget: Budget,
        kind: Candidates = PLAUSIBLE,
        *,
        start: int = 0,
        tuning: ReadTuning = DEFAULT,
    ) -> None:
        """Prepare a search that never starts before `start`."""
        self.source = source
        self.budget = budget
        self._kind = kind
        self.tuning = tuning
        self._crc32c = crc32c_for(source.size - start)

    def next_intact(self, start: int) -> int:
        """The position of the next batch whose CRC fits, from `start` on; the size of the log if there is none."""
        if kernel.native is not None and self._kind.is_any_whole is not None:
            return self._next_intact_in_c(kernel.native, start, is_any_whole=self._kind.is_any_whole)
        for position, header_bytes in self.candidates(start):
            if self._is_found(position, header_bytes):
                return position
        return self.source.size

    def _next_intact_in_c(self, native: ModuleType, start: int, *, is_any_whole: bool) -> int:
        """The same, a window at a time; only large batches, and those that reach past their window, are left to Python."""
        source, budget = self.source, self.budget
        for position, window, stop in self._windows(start, source.size):
            at = undecided = 0
            while at < stop:
                found, at, budget.tries, budget.crc_bytes, gave_up = native.next_intact(
                    window,
                    at,
                    stop,
                    source.size - position,
                    is_any_whole,
                    budget.tries,
                    budget.crc_bytes,
                    budget.kept_crc_bytes + budget.kept_for_likely,
                )
                budget.gave_up |= gave_up
                if found == native.NONE_INTACT:
                    break
                batch_position: int = position + at
                if found == native.INTACT:
                    return batch_position
                if found == native.UNDECIDED:
                    undecided += 1
                    if undecided == _FEW_UNDECIDED:
                        window = source.read(position, stop + _ROOM_TO_DECIDE)
                        budget.tries += 1  # it is looked at again
                        continue
                decide = self.is_intact if found == native.LEFT_TO_CALLER else self._is_found
                if decide(batch_position, window[at : at + BATCH_HEADER_SIZE]):
                    return batch_position
                at += 1
        return source.size

    def _is_found(self, position: int, header_bytes: bytes) -> bool:
        """Whether the batch here is one: its CRC fits, and no smaller batch starts inside its header."""
        size = batch_size(header_bytes)
        if size > SMALLEST_DOUBTFUL and self._kind.is_any_whole is not None and self._holds_start(position, header_bytes):
            return False
        return self.is_intact(position, header_bytes)

    def is_intact(self, position: int, header_bytes: bytes) -> bool:
        """Whether the CRC of the batch here fits. A large one is no batch if nothing else speaks for it; see `evidence`."""
        size = batch_size(header_bytes)
        likely = is_likely(header_bytes)
        if size > SMALL_BATCH_SIZE and self._kind.is_any_whole is not None:
            if header_bytes[MAGIC_AT] < 2 and not likely or not self.budget.take_tries(_TRIES_FOR_LARGE):
                return False
            found = evidence(self.source, position, header_bytes)
            likely = found > 1
            if not found or not likely and header_bytes[MAGIC_AT] > 2:  # as a sound header looks from a byte before it
                return False
        if not self.budget.spend(size, is_likely=likely) or not self._fits(position, header_bytes):
            return False
        self.budget.refund(size)
        return True

    def _holds_start(self, position: int, header_bytes: bytes) -> bool:
        """Whether a small batch whose CRC fits starts inside the header here, before what that may hold.

        Both cannot be batches. Where a sound batch follows garbage, the bytes from shortly before it on look like the header of
        a large one, and its CRC would take far longer.
        """
        largest = min(batch_size(header_bytes) - 1, SMALL_BATCH_SIZE)
        contents = contents_in_header(header_bytes)
        window = self.source.read(position + 1, 2 * BATCH_HEADER_SIZE - 2)
        inside = self._in_window(window, BATCH_HEADER_SIZE - 1, self.source.size - position - 1)
        # the smallest first: what starts shortly before a batch looks like a larger one
        by_size = sorted((batch_size(one), at, one) for at, one in inside if at + 1 < contents)
        return any(size <= largest and self.is_intact(position + 1 + at, one) for size, at, one in by_size)

    def candidates(self, start: int, end: int | None = None, *, batches_only: bool = False) -> Iterator[tuple[int, bytes]]:
        """The positions and bytes of what may be headers; with `batches_only`, of magic 2."""
        size = self.source.size
        for position, window, stop in self._windows(start, size if end is None else end):
            for at, header_bytes in self._in_window(window, stop, size - position, batches_only=batches_only):
                yield position + at, header_bytes

    def _in_window(self, window: bytes, stop: int, left: int, *, batches_only: bool = False) -> Iterator[tuple[int, bytes]]:
        """Where they start in a window, before `stop`, and their bytes. The log has `left` bytes from there on."""
        budget = self.budget
        if kernel.native is not None and self._kind.is_any_whole is not None:
            at = 0
            while True:
                at, budget.tries, gave_up = kernel.native.next_header(
                    window, at, stop, left, self._kind.is_any_whole, batches_only, budget.tries
                )
                budget.gave_up |= gave_up
                if at < 0:
                    return
                yield at, window[at : at + BATCH_HEADER_SIZE]
                at += 1
        import re  # slow to load, and most logs are sound

        for match in re.compile(self._kind.pattern).finditer(window):
            at = match.start() - MAGIC_AT
            if at >= stop or not budget.take_tries():
                return
            if int.from_bytes(window[at + LENGTH_AT : at + LOG_OVERHEAD], "big") > left - LOG_OVERHEAD - at:
                continue
            header_bytes = window[at : at + BATCH_HEADER_SIZE]
            if self._kind.may_be(header_bytes, left - at) and not (batches_only and header_bytes[MAGIC_AT] < 2):
                yield at, header_bytes

    def _windows(self, start: int, end: int) -> Iterator[tuple[int, bytes, int]]:
        """Positions and bytes of windows, and where in each to stop looking for headers. Runs of zeros are left out."""
        source, budget = self.source, self.budget
        near_bytes, window_bytes = self.tuning.near_bytes, self.tuning.window_bytes
        position, size = start, near_bytes
        while position < end:
            window = source.read(position, min(size, end - position + BATCH_HEADER_SIZE))
            if len(window) < MESSAGE_HEADER_SIZE:
                return
            if zeros.are_all_of(window):
                zeros_end = zeros.end(source, position, window_bytes)
                budget.earn(min(zeros_end - position, window_bytes))
                position = max(position + 1, zeros_end - LOG_OVERHEAD)
                size = near_bytes
                if zeros_end == source.size:
                    return
                continue
            # headers must be whole in their window
            step = len(window) if position + len(window) >= source.size else len(window) - BATCH_HEADER_SIZE + 1
            if step <= 0:
                return  # the file was cut off meanwhile
            yield position, window, min(step, end - position)
            budget.earn(step)
            position += step
            size = min(2 * size, window_bytes)

    def _fits(self, position: int, header_bytes: bytes) -> bool:
        """Whether the CRC of the batch here fits. The budget is not charged."""
        checksum, covers_from = self.crc_of(header_bytes)
        return self.crc_over(position + covers_from, position + batch_size(header_bytes), checksum) == stored_crc(header_bytes)

    def crc_over(self, start: int, end: int, checksum: Checksum, crc: int = 0) -> int:
        """The checksum over a range of the log, continued from `crc`. The budget is not charged."""
        return of_range(self.source, start, end, checksum, crc, window_size=self.tuning.window_bytes)

    def crc_of(self, header_bytes: bytes) -> tuple[Checksum, int]:
        """The checksum function of a batch with this header, and the first byte it covers."""
        return (crc32, MESSAGE_CRC_COVERS_FROM) if header_bytes[MAGIC_AT] < 2 else (self._crc32c, CRC_COVERS_FROM)


# --- the first batch of one family, in memory


def first_batch(source: Readable, start: int, end: int, is_legacy: bool, first_window: int = FIRST_WINDOW) -> int:
    """Where the first batch of magic 2 starts in this range, or the first message of magic 0 or 1; NOWHERE if there is none.

    It may reach past the range, and it may lie in a payload: only its checksum is known to fit.
    """
    size = first_window
    while size <= _MAX_WINDOW:
        window = source.read(start, size)
        found = kernel.native.find(window, 0, is_legacy) if kernel.native is not None else find(window, is_legacy)
        if found >= 0:
            return start + found if start + found < end else NOWHERE
        size *= 8
    return NOWHERE


def find(window: bytes, is_legacy: bool) -> int:
    """Where the first complete one starts in a window, as the kernel in C finds it; NOWHERE if there is none."""
    search = Search(_Window(window), _FixedBudget(_WINDOW_CRC_BYTES), _MESSAGES if is_legacy else _BATCHES)
    found = search.next_intact(0)
    return found if found < len(window) else NOWHERE


class _Window:
    """Bytes in memory, read like a log."""

    def __init__(self, window: bytes) -> None:
        self._window = window
        self.size = len(window)

    def read(self, position: int, count: int) -> bytes:
        return self._window[position : position + count]
