"""Frames of compressed payloads."""

from __future__ import annotations

from kdump.binary import codecs
from kdump.binary.codecs import CODECS, GZIP, LZ4, SNAPPY, lz4
from kdump.checks.finding import INFO
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.wording import counted
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.content import Payload
    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts

_MAX_BYTES_IGNORED_BY_SNAPPY = 3  # after the last block


class Frames(SegmentRule):
    """Reports compressed payloads that readers accept, although Kafka's own clients do not write them so."""

    reads_records = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        message = "Snappy without the framing of the Java clients in {count}; the first is here."
        self._raw = self.tally("snappy-raw", message)
        message = "More than one frame in {count}; the first, here, holds {note}."
        self._several = self.tally("frame-multi-member", message)
        message = "{count} with the checksum of clients before magic 1, which is valid in magic 0; the first is here."
        self._legacy_headers = self.tally("lz4-legacy-header", message, "LZ4 header", severity=INFO)

    def payload(self, payload: Payload, status: str) -> None:
        if status != salvage.DAMAGED:
            self._check(payload)

    def _check(self, payload: Payload) -> None:
        codec, offsets = payload.codec, payload.offsets
        start, end = payload.position, payload.position + payload.size
        if codec == LZ4 and not payload.magic and lz4.has_legacy_header(payload.data):
            self._legacy_headers.add(start, end, offsets)
        found = codecs.inspect_frames(codec, payload.data)
        trailing = len(payload.data) - found.end
        if found.is_raw:
            self._raw.add(start, end, offsets)
        elif found.count > 1:
            note = f"{found.count:,} {CODECS[codec]} frames"
            if codec == LZ4:
                note += ", of which readers only see the first"
            self._several.add(start, end, offsets, note)
        if found.count and trailing and (codec in (GZIP, LZ4) or codec == SNAPPY and trailing <= _MAX_BYTES_IGNORED_BY_SNAPPY):
            message = f"{counted(trailing, 'byte')} after the end of the {CODECS[codec]} stream, which readers ignore."
            self.context.report("frame-trailing-bytes", end - trailing, end, message, offsets=offsets, expected=0, found=trailing)
