"""Writes the lines of logs with the kernel in C, which is given the words of a release as programs.

It leaves everything irregular or unknown to KafkaText, and otherwise prints the same bytes.
"""

from __future__ import annotations

from struct import pack

from kdump.binary import kernel
from kdump.binary.batch_header import BATCH_HEADER_SIZE, batch_size
from kdump.formats.record_batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE, codec_name
from kdump.output.kafka.lines import Template, java_boolean, java_optional
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from kdump.binary.codecs import BatchDecompressor
    from kdump.binary.kernel import Buffer
    from kdump.binary.source import Source
    from kdump.formats.log import BulkRenderer
    from kdump.output.kafka.topics.regular_records import RegularRecords
    from kdump.releases.profile import Profile

    Write = Callable[[memoryview], None]
    Complain = Callable[[int, int], None]

OUT_SIZE = 512 << 10
_LONGEST_TEXT = 0xFFFF  # bytes of a text in a program
_MAX_MARKER = 1 << 10  # bytes; what a transaction marker says is shorter
_MAX_LINE_WORDS = 64 << 10  # bytes; no line has more without its keys, values and headers


class TextTuning(Declared):
    """Sizes at which the kernel in C writes the lines of a log.

    It reads `window_bytes` at once (with their text, these stay in a processor's cache) and makes `out_bytes` of text at once. It
    notes `gap_count` pairs of offsets before they are reported. A batch that decompresses to more than `max_payload_bytes` is
    left to the reference, and so are `pause_bytes` after something irregular. So is a batch with a decoded record whose text may
    have more than `max_decoded_bytes`.
    """

    window_bytes: int = 512 << 10
    out_bytes: int = OUT_SIZE
    gap_count: int = 1024
    max_payload_bytes: int = 4 << 20
    pause_bytes: int = 64 << 20
    max_decoded_bytes: int = 2 << 20


def native_kernel() -> ModuleType:
    """The kernel in C, with its constants for programs, plans, state and reasons. Only called where it is in use."""
    assert kernel.native is not None
    return kernel.native


class ContentWords(Declared):
    """The words around keys and values after the fields of a record, if keys and values are shown."""

    key_prefix: str
    keyless_value_prefix: str
    value_prefix: str
    needs_value: bool


class LinePrograms:
    """Compiles the lines of a release into programs: the spelling of each column as a step."""

    def __init__(
        self, profile: Profile, contents: ContentWords | None, *, is_decoded: bool = False, shows_control: bool = False
    ) -> None:
        false, true = java_boolean(False), java_boolean(True)
        before, after = java_optional(0).split("0")
        codecs = [codec_name(codec) for codec in range(8)]
        c = native_kernel()
        self._texts: dict[str, tuple[int, Sequence[str]]] = {
            "is_transactional": (c.CHOICE, (false, true)),
            "is_control": (c.CHOICE, (false, true)),
            "isvalid": (c.CHOICE, (false, true)),
            "timestamp_type": (c.CHOICE, (CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE)),
            "compresscodec": (c.CHOICE, [profile.codec_names.get(codec, codec) for codec in codecs]),
            "delete_horizon_ms": (c.OPTIONAL, (java_optional(None), before, after)),
            "headers": (c.HEADERS, ()),
        }
        self._contents = contents
        self._is_decoded = is_decoded
        self._shows_control = shows_control
        self._true = true

    def program(self, writes: Sequence[str], names: dict[str, str]) -> bytes:
        """The program of a line; `names` maps fields of the template to columns of another name.

        Raises KeyError where the kernel does not have the column.
        """
        line = Template.parse("".join(writes))
        steps: list[tuple[str, str]] = []  # a literal, and the column after it
        literal = line.literals[0]
        for field, after in zip(line.fields, line.literals[1:], strict=True):
            name = names.get(field, field)
            if name == "true" or name == "contents" and self._contents is None and not self._shows_control:
                literal += (self._true if name == "true" else "") + after
            else:
                steps.append((literal, name))
                literal = after
        return self._joined(steps, literal)

    def _joined(self, steps: Sequence[tuple[str, str]], last_literal: str) -> bytes:
        """The steps of a program. The literal after a choice is appended to the texts of the choice."""
        program = b""
        c = native_kernel()
        literals = [*(literal for literal, _ in steps), last_literal]
        for at, (_, name) in enumerate(steps):
            operation, texts = self._texts.get(name, (c.NUMBER, ()))
            if operation in (c.CHOICE, c.OPTIONAL):
                after, literals[at + 1] = literals[at + 1], ""
                texts = [text + (after if operation == c.CHOICE or place != 1 else "") for place, text in enumerate(texts)]
            program += self._step(literals[at], name, operation, texts)
        return program + encoded_step(c.NOTHING, 0, (), literals[-1])

    def _step(self, literal: str, name: str, operation: int, texts: Sequence[str]) -> bytes:
        c = native_kernel()
        if name == "contents":
            shown = self._contents
            if shown is None:
                return encoded_step(c.BARE, 0, (), literal)
            texts = (shown.key_prefix, shown.keyless_value_prefix, shown.value_prefix)
            if self._is_decoded:
                from kdump.output.kafka.topics import regular_records

                return encoded_step(c.DECODED, 0, (*texts, regular_records.TOMBSTONE), literal)
            return encoded_step(c.CONTENTS, c.NEEDS_VALUE if shown.needs_value else 0, texts, literal)
        return encoded_step(operation, 0 if operation == c.HEADERS else column_number(name), texts, literal)


def line_program(line: str) -> bytes:
    """The program of a line of numbers."""
    template = Template.parse(line)
    program = b""
    c = native_kernel()
    for literal, field in zip(template.literals, template.fields, strict=False):
        program += encoded_step(c.NUMBER, column_number(field), (), literal)
    return program + encoded_step(c.NOTHING, 0, (), template.literals[-1])


def int64s(count: int) -> memoryview:
    """An array of zeros. The module `array` would do as well, but takes 2 ms to import."""
    return memoryview(bytearray(8 * count)).cast("q")


def encoded_step(operation: int, column: int, texts: Sequence[str], literal: str) -> bytes:
    """A step of a program: a literal, and what the operation puts after it. Raises ValueError for a text that is too long."""
    parts = [text.encode() for text in (*texts, literal)]
    if max(map(len, parts)) > _LONGEST_TEXT:
        raise ValueError("a text is too long for a program")
    return bytes((operation, column, len(texts))) + b"".join(pack("<H", len(part)) + part for part in parts)


def column_number(name: str) -> int:
    """The number of a column of the kernel. Raises KeyError where it does not have it."""
    columns: tuple[str, ...] = native_kernel().COLUMNS
    if name not in columns:
        raise KeyError(name)
    return columns.index(name)


_BATCH = {"timestamp": "batch_timestamp"}
_BATCH_RECORD = {"record_isvalid": "true"}
_MESSAGE_RECORD = {"record_isvalid": "isvalid", "record_crc": "crc", "first_offset": "offset"}


def compiled_plan(
    programs: Mapping[int, bytes],
    *,
    flags: int,
    codec_count: int,
    max_decoded_bytes: int = 0,
    messages: bytes = b"",
    times: tuple[int, int] | None = None,
) -> object:
    """A plan for the kernel: `programs` of lines by their number, and layouts of `messages` that they show decoded.

    With `times`, only records between these are shown, and no messages of magic 0 and 1.

    Raises ValueError where their text is too long for it.
    """
    c = native_kernel()
    numbers = [0] * c.PLAN_NUMBERS
    numbers[c.PLAN_FLAGS] = flags
    if times is not None:
        numbers[c.PLAN_FLAGS] |= c.HAS_TIMES
        numbers[c.PLAN_FROM_TIME], numbers[c.PLAN_TO_TIME] = times
    numbers[c.PLAN_MAX_CODEC] = codec_count - 1
    numbers[c.PLAN_MAX_DECODED] = max_decoded_bytes
    packed = pack(f"={c.PLAN_NUMBERS}q", *numbers)
    for number in range(c.PROGRAM_COUNT):
        program = programs.get(number, b"")
        packed += pack("=I", len(program)) + program
    return c.compile_plan(packed + messages)


class KernelPlan:
    """What a release prints of a log's regular batches, and of their records if `shows_records`.

    With `are_valid`, the caller knows that all checksums match, and they are not computed for the lines.

    Only `regular` records are printed, as their decoder prints them, if these are given.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        codec_count: int,
        shows_batches: bool,
        shows_records: bool,
        contents: ContentWords | None = None,
        regular: RegularRecords | None = None,
        skips_metadata: bool = False,
        are_valid: bool = False,
        tuning: TextTuning | None = None,
    ) -> None:
        c = native_kernel()
        shows_control = shows_records and not skips_metadata
        lines = LinePrograms(profile, contents, is_decoded=regular is not None, shows_control=shows_control)
        messages = b""
        max_decoded_bytes = 0
        if regular is not None or shows_control:
            from kdump.output.kafka.topics import native_messages

            messages = native_messages.compiled(regular, profile.control_types if shows_control else None)
            max_decoded_bytes = _MAX_MARKER if regular is None else (tuning or TextTuning()).max_decoded_bytes
        programs: dict[int, bytes] = {}
        known = {"isvalid": "true", "record_isvalid": "true"} if are_valid else {}
        if shows_batches:
            programs[c.BATCH_PROGRAM] = lines.program(profile.batch_line, _BATCH | known)
            programs[c.MESSAGE_PROGRAM] = lines.program(profile.message_line, _BATCH | known)
        if shows_records:
            batch_record_line: Sequence[str] = ("{contents}\n",)
            message_record_line = batch_record_line
            if not skips_metadata:
                batch_record_line, message_record_line = profile.batch_record_line, profile.message_record_line
            programs[c.BATCH_RECORD_PROGRAM] = lines.program(batch_record_line, _BATCH_RECORD | known)
            programs[c.MESSAGE_RECORD_PROGRAM] = lines.program(message_record_line, _MESSAGE_RECORD | known)
        flags = (
            c.SHOWS_BATCHES * shows_batches
            | c.SHOWS_RECORDS * shows_records
            | c.CHECKS_FIRST_OFFSET * profile.checks_first_offset
        )
        self.compiled = compiled_plan(
            programs, flags=flags, codec_count=codec_count, max_decoded_bytes=max_decoded_bytes, messages=messages
        )


class KernelText:
    """Writes the lines of a log.

    `plan` is a compiled one. `write` gets the text; `complain`, if there is one, gets pairs of neighbouring offsets that do not
    follow one another. A caller with its own room for text sets `out`.
    """

    def __init__(self, plan: object, write: Write, complain: Complain | None, tuning: TextTuning | None = None) -> None:
        self._kernel = native_kernel()
        self._write = write
        self._complain = complain
        self._plan = plan
        self._tuning = tuning or TextTuning()
        self._decompressor: BatchDecompressor | None = None
        self.out: bytearray | memoryview = bytearray()
        self._filled = 0
        self._window = bytearray()  # kept: new memory would cost as much as to read into it
        self._state = int64s(self._kernel.GAPS + 2 * self._tuning.gap_count)
        self._state[self._kernel.PREVIOUS_OFFSET] = self._state[self._kernel.RECORD_START] = -1

    @property
    def previous_offset(self) -> int:
        """The offset of the last record, -1 if there was none. Other writers of records in between set it."""
        offset: int = self._state[self._kernel.PREVIOUS_OFFSET]
        return offset

    @previous_offset.setter
    def previous_offset(self, offset: int) -> None:
        self._state[self._kernel.PREVIOUS_OFFSET] = offset

    def bulk_renderer(self, source: Source) -> BulkRenderer:
        """The renderer that reads and writes a log in C up to an irregularity; after that it pauses for a while."""
        next_try = 0

        def render(position: int, stop: int, end: int) -> int:
            nonlocal next_try
            if position < next_try:
                return position
            reached = self.render_log(source, position, stop, end)
            if reached < stop:
                next_try = reached + self._tuning.pause_bytes
            return reached

        return render

    def render_log(self, source: Source, position: int, stop: int, end: int) -> int:
        """Write the lines of the regular batches that start from `position` up to `stop`, in a log that ends at `end`.

        Returns where in the log they end: before the first that is compressed, or whose line is longer than the room for text.
        """
        c = self._kernel
        self.out = self.out or bytearray(self._tuning.out_bytes)
        if len(self._window) < min(self._tuning.window_bytes, end - position):
            self._window = bytearray(min(self._tuning.window_bytes, end - position))
        window, start, held, reason = self._window, 0, 0, c.FULL
        while reason in (c.FULL, c.PAUSED):
            self._filled, position, start, held, reason = c.dump_log(
                self._plan, source.fileno(), position, stop, end, window, start, held, self.out, self._filled, self._state
            )
            if reason == c.FULL:
                if not self._filled and not self._state[c.GAP_COUNT]:  # a line that is longer than the buffer
                    break
                self.flush()
        self.flush()
        return position

    def render(self, window: Buffer, start: int, window_position: int) -> int:
        """Write the lines of the regular batches from `start` on. Returns where in the window they end."""
        end = self.fill(window, start, window_position)
        self.flush()
        return end

    def fill(self, window: Buffer, start: int, window_position: int) -> int:
        """As `render`, but some of the text may be left to be flushed."""
        c = self._kernel
        payload: bytes | memoryview | None = None
        self.out = self.out or bytearray(self._tuning.out_bytes)
        while True:
            end: int
            self._filled, end, reason = c.dump(
                self._plan, window, start, window_position, payload, self.out, self._filled, self._state
            )
            if end > start:
                payload = None
            start = end
            if reason == c.STOPPED:
                return start
            if reason == c.FULL:
                if not self._filled and not self._state[c.GAP_COUNT]:  # a line that is longer than the buffer
                    most = 3 * max(len(window), len(payload or b"")) + _MAX_LINE_WORDS  # of Kafka's lines
                    self.out = bytearray(max(most, 2 * len(self.out)))
                self.flush()
            else:
                if 2 * self._filled > len(self.out):  # the lines of the next batch may not fit
                    self.flush()
                payload = self._payload_at(window, start)
                if payload is None:
                    return start

    def flush(self) -> None:
        """Write the collected text, and report the collected gaps between offsets."""
        if self._state[self._kernel.GAP_COUNT]:
            self._drain_gaps()
        if self._filled:
            with memoryview(self.out) as text:
                self._write(text[: self._filled])
            self._filled = 0

    def _drain_gaps(self) -> None:
        state, first, count = self._state, self._kernel.GAPS, self._kernel.GAP_COUNT
        end = first + 2 * state[count]
        if self._complain is not None:
            for previous, offset in zip(state[first:end:2], state[first + 1 : end : 2], strict=True):
                self._complain(previous, offset)
        state[count] = 0

    def _payload_at(self, window: Buffer, start: int) -> bytes | memoryview | None:
        """The records of the compressed batch at `start`, or None if one call cannot decompress them."""
        if self._decompressor is None:
            from kdump.binary.codecs import BatchDecompressor

            self._decompressor = BatchDecompressor(self._tuning.max_payload_bytes)
            # glibc keeps memory for blocks up to the largest given back; larger ones it maps again
            bytearray(2 * self._tuning.out_bytes)
        end = start + batch_size(window, start)
        return self._decompressor.decompress(window[start + 22] & 7, memoryview(window)[start + BATCH_HEADER_SIZE : end])
