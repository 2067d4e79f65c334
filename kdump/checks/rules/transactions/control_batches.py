"""Control batches: markers that end transactions, and control records of KRaft."""

from __future__ import annotations

from struct import Struct

from kdump.binary.batch_header import (
    ATTRIBUTES,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_BIT,
    LENGTH,
    MIN_BATCH_LENGTH,
    PRODUCER_ID,
    RECORD_COUNT,
    TRANSACTIONAL_BIT,
)
from kdump.checks.catalogue.fault_kind import BLIND, DIE, IGNORE
from kdump.checks.finding import ERROR, INFO, WARNING
from kdump.checks.wording import counted
from kdump.decoders.control_record import MARKER_SIZE, usual_marker
from kdump.errors import CorruptData
from kdump.formats import record
from kdump.formats.record_batch import NO_PRODUCER_ID, codec_name
from kdump.messages import schema
from kdump.messages.control_records import ABORT, COMMIT, KRAFT_VOTERS, MESSAGES
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from kdump.checks.context import Details, FileContext
    from kdump.formats.log import Chunk

_KEY = Struct(">hh")  # version, type
_MARKER = Struct(">hi")  # version, epoch of the coordinator
_MARKER_BITS = TRANSACTIONAL_BIT | CONTROL_BIT  # and not compressed
_MARKER_MASK = _MARKER_BITS | COMPRESSION_MASK
MAX_BATCH_BYTES = 1 << 20
"""Control batches are small; a larger one is read where every record is."""


class Control(Declared):
    """What a control batch says: `kind` is its type, None where that could not be read; markers have a `coordinator_epoch`."""

    kind: int | None
    coordinator_epoch: int | None


def read(context: FileContext, chunk: Chunk, row: int) -> Control | None:
    """The content of the control batch in this row, None if it is empty. What is irregular is reported."""
    header = chunk.headers[row]
    is_usual = header[LENGTH] == MIN_BATCH_LENGTH + MARKER_SIZE and header[ATTRIBUTES] & _MARKER_MASK == _MARKER_BITS
    if is_usual and header[RECORD_COUNT] == 1 and header[PRODUCER_ID] >= 0 and chunk.window:
        start = chunk.starts[row] + BATCH_HEADER_SIZE
        marker = usual_marker(chunk.window[start : start + MARKER_SIZE])
        if marker is not None:
            return Control(*marker)
    return _Reading(context, chunk, row).control()


class _Reading:
    """Reads a control batch that is no regular marker."""

    def __init__(self, context: FileContext, chunk: Chunk, row: int) -> None:
        self.context = context
        self.chunk = chunk
        self.row = row
        header = chunk.headers[row]
        self.attributes: int = header[ATTRIBUTES]
        self.producer_id: int = header[PRODUCER_ID]
        self.count: int = header[RECORD_COUNT]
        self.offset: int = chunk.batches["base_offset"][row]  # magic 2 only has control batches
        self.last_offset: int = chunk.batches["last_offset"][row]
        self.position: int = chunk.batches["position"][row]
        self.end: int = self.position + chunk.batches["size"][row]

    def control(self) -> Control | None:
        """The content of the batch; what is irregular is reported."""
        if self.count == 0:
            message = (
                f"The control batch at offset {self.offset:,} is empty: the cleaner removed its marker and kept the batch "
                "for its producer epoch."
            )
            self._report("control-batch-shape", message, severity=INFO)
            return None
        records = self._records()
        controls = [self._of_record(*one) for one in records]
        control = (controls[0] if controls else None) or Control(None, None)
        self._check_shape(control.kind)
        return control

    def _records(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """Offsets, keys and values; none at levels that do not read them."""
        settings = self.context.settings
        if not settings.checks_crcs or self.end - self.position > MAX_BATCH_BYTES and not settings.reads_payloads:
            return []
        is_marker = self.producer_id >= 0 and self.end - self.position <= MAX_BATCH_BYTES
        if is_marker or self.attributes & COMPRESSION_MASK and not settings.reads_payloads:
            return self._first()  # whether a transaction was aborted must be known also where no payload is read
        try:
            for part in record.read(self.context.source, self.chunk.slice(self.row, self.row + 1)):
                offsets, keys, values = part.records["offset"], part.records["key"], part.records["value"]
                return list(zip(offsets, keys, values, strict=True))[: 1 if self.producer_id >= 0 else None]
        except CorruptData:
            pass  # records that cannot be read are a matter of other rules
        return []

    def _first(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """The first record, which is the marker, if there is a producer."""
        if self.producer_id < 0:
            return []
        start, size = self.chunk.starts[self.row], self.end - self.position
        batch = self.chunk.window[start : start + size] or self.context.source.read(self.position, size)
        first = record.first_of(self.chunk.headers[self.row], batch, max_payload=MAX_BATCH_BYTES)
        if first is None:
            return []
        _, offset_delta, *_, key, value = first
        return [(self.offset + offset_delta, None if key is None else bytes(key), None if value is None else bytes(value))]

    def _of_record(self, offset: int, key: bytes | None, value: bytes | None) -> Control | None:
        """The content of one record; None, and a finding, if it makes no sense."""
        name = f"The control record at offset {offset:,}"
        if key is None:
            self._report_record("control-key-null", f"{name} has no key.", offset, key)
            return None
        if len(key) < _KEY.size:
            message = f"{name} has a key of {len(key)} bytes, too short for a version and a type."
            self._report_record("control-key-short", message, offset, key)
            return None
        version, kind = _KEY.unpack_from(key)
        if version < 0:
            self._report_record("control-version-negative", f"{name} has the version {version}.", offset, key)
            return None
        if not ABORT <= kind <= KRAFT_VOTERS or kind > COMMIT and self.producer_id >= 0:
            self._report_type(offset, kind)
            return Control(kind, None)
        if value is None:
            self._report_record("control-value-short", f"{name} has no value.", offset, value)
            return None
        return self._marker(offset, kind, value) if kind <= COMMIT else self._kraft_message(offset, kind, value)

    def _marker(self, offset: int, kind: int, value: bytes) -> Control | None:
        name = f"The transaction marker at offset {offset:,}"
        if len(value) < _MARKER.size:
            message = f"{name} has a value of {len(value)} bytes, which is too short."
            self._report_record("control-value-short", message, offset, value)
            return None
        version, coordinator_epoch = _MARKER.unpack_from(value)
        if version < 0:
            self._report_record("control-version-negative", f"{name} has the version {version}.", offset, value)
            return None
        return Control(kind, coordinator_epoch)

    def _kraft_message(self, offset: int, kind: int, value: bytes) -> Control | None:
        if schema.is_readable(MESSAGES[kind], value, 0):  # Kafka reads every version as 0
            return Control(kind, None)
        is_newer = int.from_bytes(value[:2], "big", signed=True) > 0
        if not is_newer:
            message = f"The KRaft control record at offset {offset:,} has a value of {len(value)} bytes, which is too short."
            self._report_record("control-value-short", message, offset, value)
        return None

    def _report_type(self, offset: int, kind: int) -> None:
        if self.producer_id < 0:
            why = "exists in no release" if kind < 0 else "is not known: a newer broker may have written it"
            message = f"The control record at offset {offset:,} has type {kind}, which {why}."
            self._report("control-type-unknown", message, offset=offset, found=kind, severity=WARNING, forecast=IGNORE)
            return
        message = (
            f"The control record at offset {offset:,} has type {kind} and producer {self.producer_id:,}. "
            "A broker treats it as a transaction marker, and only 0 (abort) and 1 (commit) are valid."
        )
        self._report("control-type-unknown", message, offset=offset, expected="0 or 1", found=kind, severity=ERROR, forecast=DIE)

    def _check_shape(self, kind: int | None) -> None:
        is_marker = kind in (ABORT, COMMIT) or self.producer_id >= 0
        odd = []
        if self.attributes & COMPRESSION_MASK:
            odd.append(f"is compressed ({codec_name(self.attributes)})")
        if is_marker and self.count != 1:
            odd.append(f"says it holds {counted(self.count, 'record')}, of which a broker only reads the first")
        if is_marker and self.producer_id == NO_PRODUCER_ID:
            odd.append("has no producer id, so it ends no transaction")
        elif is_marker and not self.attributes & TRANSACTIONAL_BIT:
            odd.append("is not flagged as transactional")
        if odd:
            self._report("control-batch-shape", f"The control batch at offset {self.offset:,} {' and '.join(odd)}.")

    def _report_record(self, code: str, message: str, offset: int, data: bytes | None) -> None:
        found = "null" if data is None else data[:32].hex()
        forecast = DIE if self.producer_id >= 0 else BLIND
        self._report(code, message, offset=offset, found=found, forecast=forecast, start=self.position + BATCH_HEADER_SIZE)

    def _report(
        self,
        code: str,
        message: str,
        offset: int | None = None,
        start: int | None = None,
        **details: Unpack[Details],
    ) -> None:
        offsets = (self.offset, self.last_offset) if offset is None else (offset, offset)
        self.context.report(code, self.position if start is None else start, self.end, message, offsets=offsets, **details)
