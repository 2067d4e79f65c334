"""Faults of readers, as the catalogue names them."""

from __future__ import annotations

from kdump.binary import codecs
from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.codecs import CODECS, LZ4, SNAPPY, ZSTD, lz4
from kdump.binary.codecs.zstd_frame import MAX_WINDOW
from kdump.checks import record_bytes
from kdump.checks.rules.records.wrappers import payload_of_wrapper
from kdump.checks.wording import as_sentence, counted, words_of
from kdump.formats import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.binary.source import Source
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk

_MAX_HELD_BYTES = 32 << 20  # of a payload that is inspected again

_OF_RECORDS = {
    "record-length-past-end": "record-length-bad",
    "last-record-length-past-end": "record-length-bad",
    "record-length-negative": "record-length-bad",
    "record-length-varint-too-long": "varint-too-long",
    "record-structure-invalid": "record-body-mismatch",
    "record-body-mismatch": "record-body-mismatch",
    "header-count-negative": "header-count-bad",
    "header-count-too-high": "header-count-bad",
    "header-key-null": "header-key-null",
    "header-key-past-end": "header-bytes-odd",
    "inner-record-size-too-small": "record-length-bad",
    "batch-shorter-than-header": "batch-length-too-small",
    "decompression-limit": "decompression-limit",
}
"""Codes of the catalogue by those of the readers."""

_OF_FRAMES = {
    "frame-bad-header": "frame-bad-header",
    "frame-truncated": "frame-truncated",
    "frame-ends-early": "frame-truncated",
    "frame-checksum-cut": "frame-truncated",
    "frame-checksum-mismatch": "frame-checksum-mismatch",
    "frame-damaged": "frame-damaged",
    "frame-block-size": "declared-size-forged",
    "frame-block-too-large": "declared-size-forged",
    "frame-first-block-size": "declared-size-forged",
    "frame-negative-size": "declared-size-forged",
}

_OF_MESSAGES = {
    "legacy-wrapper-null": "legacy-wrapper-empty",
    "legacy-wrapper-empty": "legacy-wrapper-empty",
    "legacy-wrapper-offset": "legacy-wrapper-offset",
    "legacy-nested-compression": "legacy-nested-compression",
    "codec-unknown": "codec-unknown",
    "message-content-past-end": "key-length-bad",
    "message-field-past-end": "key-length-bad",
}

_MAY_TRAIL = ("frame-damaged", "frame-block-size", "frame-block-too-large", "frame-truncated", "frame-bad-header")


def code_in_catalogue(code: str) -> str:
    """The code of the catalogue for the code of a reader's fault, as far as the code alone says; else the code itself."""
    plain = _plain(code)
    return _OF_FRAMES.get(plain) or _OF_MESSAGES.get(plain) or _OF_RECORDS.get(plain) or plain


def _plain(code: str) -> str:
    """A code without what it says about where the fault was met."""
    return code.removesuffix("-behind-records").removeprefix("wrapper-").removeprefix("compressed-")


def fault_in_catalogue(source: Source, chunk: Chunk, row: int, fault: CorruptData) -> tuple[str | None, Callable[[], str]]:
    """The code of the catalogue for a fault of a reader in this batch, and what makes the message.

    There is no code for those that other rules report. Most messages are never made: many faults of a file are only counted.
    """
    code = _plain(fault.code)

    def sentence() -> str:
        return as_sentence(words_of(fault))

    if code in _OF_FRAMES:
        return _frame_fault(source, chunk, row, fault, code)
    if code in _OF_MESSAGES:
        return _OF_MESSAGES[code], sentence
    values = fault.values
    if code in ("record-structure-invalid", "record-count-too-high") and "at" in values:
        why = record_bytes.why_unreadable(values["data"], values["at"], values["data_end"])
        if code == "record-structure-invalid" and why is not None:
            return why.code, lambda: f"{why.message}."
        if why is not None and why.code == "varint-truncated" and values["at"] < values["data_end"]:
            return why.code, lambda: f"{why.message}."
    if code == "record-body-mismatch" and values["size"] <= 0:
        return "record-length-bad", lambda: f"a record says it is {values['size']:,} bytes long."
    known = _OF_RECORDS.get(code)
    return known, sentence if known == "decompression-limit" or chunk.is_legacy else lambda: f"{words_of(fault)}."


def _code_of_frames(codec: int, payload: bytes, error: CorruptData) -> str:
    """The code of the catalogue for the error of a compressed payload of which no record can be read, or too few."""
    code = _plain(error.code)
    if code == "frame-bad-header":
        return "lz4-legacy-header" if codec == LZ4 and lz4.has_legacy_header(payload) else code
    if "claimed" in error.values or codec == ZSTD and code in _MAY_TRAIL and _zstd_window(payload) > MAX_WINDOW:
        return "declared-size-forged"
    return "frame-checksum-mismatch" if codec == ZSTD and "checksum" in error.message else _OF_FRAMES[code]


def _zstd_window(payload: bytes) -> int:
    return codecs.inspect_frames(ZSTD, payload).window


def _frame_fault(source: Source, chunk: Chunk, row: int, fault: CorruptData, code: str) -> tuple[str, Callable[[], str]]:
    """The same for a fault of a compressed stream, where the message may say more than the code."""
    name = chunk.batches["compresscodec"][row]

    def sentence() -> str:
        words = words_of(fault)
        return as_sentence(words) if name in words.lower() else f"The {name} stream cannot be read: {words}."

    payload = _payload(source, chunk, row)
    if payload is None:
        return _OF_FRAMES[code], sentence
    codec = CODECS.index(name)
    if not payload and chunk.is_legacy:
        return "legacy-wrapper-empty", lambda: "A compressed message has an empty value."
    found = _code_of_frames(codec, payload, fault)
    if found == "lz4-legacy-header":
        magic = chunk.batches["magic"][row]
        return found, lambda: f"The LZ4 header has the checksum of clients before magic 1; readers of magic {magic} refuse it."
    if found == "frame-bad-header":
        return found, lambda: f"The payload is not {name}: {words_of(fault)}.{_what_it_resembles(payload, name)}"
    if code not in _MAY_TRAIL or "claimed" in fault.values:
        return found, sentence
    if found == "declared-size-forged" and codec == ZSTD:
        return found, lambda: f"A zstd frame asks for a window of {_zstd_window(payload):,} bytes; the limit is {MAX_WINDOW:,}."
    if codec in (SNAPPY, ZSTD) and fault.values["decoded"] >= (chunk.batches["count"][row] or 0) > 0:
        end = codecs.inspect_frames(codec, payload).end
        if 0 < end < len(payload):
            trailing = fault.values["trailing"] = len(payload) - end
            return "frame-trailing-bytes", lambda: f"{counted(trailing, 'byte')} after the end of the {name} stream."
    return found, sentence


def _what_it_resembles(payload: bytes, name: str) -> str:
    """A sentence to append, if a payload that is not of the codec of this name looks like that of another."""
    like = codecs.resembles(payload)
    return f" The bytes look like {like}." if like not in (None, name) else ""


def _payload(source: Source, chunk: Chunk, row: int) -> bytes | None:
    """The compressed payload of the batch in this row, unless it is too large to be held."""
    if chunk.batches["size"][row] > _MAX_HELD_BYTES:
        return None
    if chunk.is_legacy:
        payload = payload_of_wrapper(chunk, row, source)
        return None if payload is None else payload.data
    return record.bytes_of(source, chunk, row)[BATCH_HEADER_SIZE:]
