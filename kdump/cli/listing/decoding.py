"""Chooses the decoder for the keys and values of a log: the one that is asked for, or the one that fits its topic."""

from __future__ import annotations

import os

from kdump.cli.listing.decoder_names import AUTO, NONE, OPTIONS, no_words
from kdump.cli.shared_options import STDIN
from kdump.decoders import plain
from kdump.decoding import decoded
from kdump.decoding.log_decoder import LogDecoder
from kdump.errors import CorruptData
from kdump.formats import file_name
from kdump.output.kafka.record_contents import contents_column
from kdump.output.stand_ins import StandIns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.cli.listing.run import Run
    from kdump.decoding.decoded import Decoded
    from kdump.formats.record import RecordChunk
    from kdump.output.kafka.lines import ContentsColumn
    from kdump.output.kafka.topics.record_decoder import RecordDecoder
    from kdump.schemas.shapes import NotedShapes


class Decoding:
    """Decodes the records of one log: `contents` makes Kafka's words, `of` the objects of the other forms of output.

    Records of which a key or value could not be decoded are counted, one line for each kind of fault.
    """

    def __init__(self, run: Run, path: str) -> None:
        self._run = run
        self._path = path
        self._faults: dict[str, _Faults] = {}
        self.stand_ins = StandIns(run.shown)
        request = run.request
        self._is_off = request.decode == NONE
        if path == STDIN:
            path += request.suffix  # it is what the command says
        self._topic = topic_of(path) if request.decode == AUTO else request.decode if request.decode in OPTIONS else ""
        self._schemas = None if self._topic or self._is_off else run.schemas.decoder_of(path)
        plain_kinds = ("string", "string") if self._schemas is not None else request.decoders
        self._decode = decoded.decoder_of(self._topic) if self._topic else decoded.plain_decoder(*plain_kinds)
        self._decoder = LogDecoder(self._decode, self._schemas)
        if request.says_decoder and not self._is_wordless:
            self._say_decoder()

    @property
    def _is_wordless(self) -> bool:
        """Whether Kafka's lines are asked for, but this release has no decoder for the topic."""
        run = self._run
        return run.output is None and bool(self._topic) and OPTIONS[self._topic] not in run.request.profile.topic_decoders

    @property
    def is_plain(self) -> bool:
        """Whether keys and values are shown as they are, except in control records."""
        if self._run.output is not None:
            return self._is_off or self._decode is None and self._schemas is None
        request = self._run.request
        has_words = bool(self._topic) and not self._is_wordless
        return not request.prints_data or not has_words and request.decoders == ("string", "string")

    def _say_decoder(self) -> None:
        """Say which decoder was chosen, once per directory."""
        folder = STDIN if self._path == STDIN else os.path.dirname(self._path) or "."
        if not self._topic:
            what = "keys and values are shown as text: by its name, this is not the directory of an internal topic"
        elif file_name.CHECKPOINT in (file_name.suffix(self._path), self._run.request.suffix):
            what = f"keys and values of KRaft snapshots are decoded as {self._topic}"
        else:
            what = f"keys and values are decoded as {self._topic}, by the name of the directory"
        self._run.say_once(f"{folder}: {what}")

    def contents(self) -> ContentsColumn:
        """The text after the fields of each record's line, with tokens of `stand_ins` in it."""
        run, request = self._run, self._run.request
        if not request.prints_data:
            return self._column(None)
        if self._topic and not self._is_wordless:
            from kdump.output.kafka.topics import topic_records

            decoder = topic_records.decoder_of(request.profile, OPTIONS[self._topic])
            return self._column(decoder)
        if self._topic:
            run.say(f"{self._path}: {no_words(request.profile, self._topic)}; keys and values are shown as they are")
        key_decoder, value_decoder = (run.show if kind == "string" else plain.DECODERS[kind] for kind in request.decoders)
        return self._column((key_decoder, value_decoder))

    def _column(self, decoders: tuple[plain.Decoder, plain.Decoder] | RecordDecoder | None) -> ContentsColumn:
        request = self._run.request
        return contents_column(request.profile, decoders, skips_metadata=request.skips_metadata, stand_ins=self.stand_ins)

    def pieces(self, part: RecordChunk) -> Iterator[tuple[int, int, Sequence[Decoded] | None]]:
        """The decoded keys and values of records, in pieces of bounded size: from which row up to which, and what they say.

        A piece is None where nothing is decoded.
        """
        if self._is_off or self._decode is None and self._schemas is None and True not in part.batches["is_control"]:
            yield 0, len(part.records), None
            return
        for first, end, found in self._decoder.pieces(part):
            for offset, one in zip(part.records["offset"][first:end], found, strict=True):
                if one.fault is not None:
                    self._note(offset, one.fault)
            yield first, end, found

    def note_shapes(self, part: RecordChunk) -> None:
        """Take note of the schemas that records have, without decoding them."""
        self._decoder.note_shapes(part)

    @property
    def noted_shapes(self) -> tuple[NotedShapes, NotedShapes] | None:
        """The shapes of the keys and values whose schemas were noted; None if there are no schemas."""
        return self._decoder.noted_shapes

    def report(self) -> None:
        """Say what could not be decoded. It is a finding, unless a registry was only found beside the data.

        For without being told, nobody knows whether a number that starts with 0 is one, or names a schema.
        """
        is_finding = self._schemas is None or self._run.request.asks_for_schemas
        for code, faults in self._faults.items():
            records = "1 record" if faults.count == 1 else f"{faults.count} records"
            where = "at" if faults.count == 1 else "the first at"
            text = f"{records} not decoded, {where} offset {faults.offset}: {faults.message} ({code})"
            if is_finding:
                self._run.find(self._path, text)
            else:
                self._run.say(f"{self._path}: {text}")
        self._faults.clear()

    def _note(self, offset: int, fault: CorruptData) -> None:
        if fault.code not in self._faults:
            self._faults[fault.code] = _Faults(offset, fault.message)
        self._faults[fault.code].count += 1


class _Faults:
    """The number of records with one kind of fault, and the first of them."""

    def __init__(self, offset: int, message: str) -> None:
        self.count = 0
        self.offset = offset
        self.message = message


def topic_of(path: str) -> str:
    """The internal topic that a file belongs to, by its name and its directory; empty for any other topic."""
    if path.startswith(STDIN + ".") and file_name.suffix(path) != file_name.CHECKPOINT:
        return ""  # stdin is in no directory
    return decoded.internal_topic(path)
