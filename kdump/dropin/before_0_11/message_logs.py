"""Dumps logs (`.log`) as the tool before 0.11 did: a line for each message, wrappers shallow or deep."""

from __future__ import annotations

from kdump.binary.arithmetic import as_int64
from kdump.dropin.before_0_11.message_log import MAX_INT, MessageLog, Placed, messages_in
from kdump.dropin.decoders import decoders_of
from kdump.dropin.logs import prints_data
from kdump.dropin.tool import absolute
from kdump.errors import CorruptData
from kdump.formats import file_name
from kdump.formats.record_batch import codec_name
from kdump.output.kafka.lines import Template
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.binary.source import Source
    from kdump.dropin.joptsimple import Arguments
    from kdump.dropin.tool import DumpTool
    from kdump.formats.message_set import Message
    from kdump.output.kafka.topics.record_decoder import Content, RecordDecoder
    from kdump.releases.message_rules import MessageRules

    Decoder = Callable[[bytes], str]
    Decoders = tuple[Decoder, Decoder] | RecordDecoder | None

_ROWS = 4096  # lines that are made at once
_COLUMNS = ("offset", "position", "timestamp_type", "timestamp", "isvalid", "value_size", "magic", "compresscodec", "crc")


def dump(tool: DumpTool, path: str, name: str, arguments: Arguments) -> None:
    """Dump one log, up to its end or to where the tool throws. Raises Fault there."""
    decoders = decoders_of(tool.profile, arguments, tool.text_of, tool.out.write) if prints_data(tool, arguments) else None
    limit = arguments.number("max-message-size") if tool.profile.limits_message_size else MAX_INT
    tool.out.write(tool.profile.log_heading.format(offset=file_name.base_offset(name)) + "\n")
    with tool.open(path) as source:
        _dump(tool, source, name, decoders, limit, is_deep=arguments.has("deep-iteration"))


def _dump(tool: DumpTool, source: Source, name: str, decoders: Decoders, limit: int, *, is_deep: bool) -> None:
    rules = tool.message_rules
    assert rules is not None
    lines = _Lines(tool, decoders)
    log = MessageLog(source, rules, max_message_size=limit)
    path, previous = absolute(source.path), -1
    try:
        for position, message in log.messages():
            for placed in messages_in(message, rules) if is_deep else (Placed(message, None, rules),):
                inner = placed.message
                if previous != -1 and not rules.codec_of(inner) and inner.offset != as_int64(previous + 1):
                    tool.complain(history.NON_CONSECUTIVE, path, previous, inner.offset)
                previous = inner.offset
                lines.add(position, placed, rules)
    finally:
        lines.write()
    trailing = source.size - log.position
    if trailing > 0:
        tool.out.write(f"Found {trailing} invalid bytes at the end of {tool.shown(name)}\n")


class _Lines:
    """Collects the rows of lines, and writes them."""

    def __init__(self, tool: DumpTool, decoders: Decoders) -> None:
        self._tool = tool
        self._profile = tool.profile
        self._decoders = decoders
        self._template = Template.parse("".join(tool.profile.log_message_line))
        self._rows: list[tuple[object, ...]] = []
        self._contents: list[str] = []

    def add(self, position: int, placed: Placed, rules: MessageRules) -> None:
        """Add the line of a message. Raises CorruptData at a field that cannot be read, after writing what precedes it."""
        message = placed.message
        key_size, value_size = message.key_size, message.value_size  # after their faults, that of the codec
        codec_text = self._profile.codec_names[codec_name(rules.codec_of(message))]
        is_valid = "true" if message.is_valid else "false"
        self._rows.append(
            (
                *(message.offset, position, placed.timestamp_type, placed.timestamp, is_valid, value_size),
                *(message.magic, codec_text, message.crc),
            )
        )
        self._contents.append(self._profile.key_size_part.format(size=key_size) if key_size >= 0 else "")
        try:
            if isinstance(self._decoders, tuple):
                self._add_contents(message, *self._decoders)
            elif self._decoders is not None:
                self._add_decoded(message, self._decoders)
        except CorruptData:
            self.write(is_cut=True)
            raise
        if len(self._rows) >= _ROWS:
            self.write()

    def _add_contents(self, message: Message, key_decoder: Decoder, value_decoder: Decoder) -> None:
        hides, throws = self._profile.null_values == "hide", self._profile.null_values == "throw"
        value = message.value if hides else None
        if hides and value is None:
            return
        key = message.key
        if key is not None:
            self._contents[-1] += " key: " + key_decoder(key)
        if not hides:
            value = message.value
        if value is None and throws:
            raise CorruptData("message-null-value", "the tool trips over a null value")
        self._contents[-1] += " payload: " + ("null" if value is None else value_decoder(value))

    def _add_decoded(self, message: Message, decoder: RecordDecoder) -> None:
        value: Content
        try:
            value = message.value
        except CorruptData as fault:
            value = fault
        key_text, payload = decoder.decode(message.offset, message.key, value)
        if key_text is not None:
            self._contents[-1] += self._tool.shown(f" key: {key_text} payload: {payload}")

    def write(self, *, is_cut: bool = False) -> None:
        """Write the collected lines; if `is_cut`, the last one without its end."""
        if not self._rows:
            return
        columns: dict[str, list[object]] = dict(zip(_COLUMNS, map(list, zip(*self._rows, strict=True)), strict=True))
        columns["contents"] = list(self._contents)
        text = "".join(self._template.lines(columns.__getitem__, len(self._rows)))
        self._tool.out.write(text[:-1] if is_cut else text)
        self._rows, self._contents = [], []
