"""Faults of readers, as the catalogue names them."""

from __future__ import annotations

from kdump.binary import codecs
from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.codecs import CODECS, LZ4, SNAPPY, ZSTD, lz4
from kdump.binary.codecs.zstd_frame import MAX_WINDOW
from kdump.checks import record_bytes
from kdump.checks.rules.records.fault_words import words_of
from kdump.checks.rules.records.wrappers import payload_of_wrapper
from kdump.checks.wording import counted
from kdump.formats import record

TYPE_CHECKING = False
if TYPE_CHECKING:
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


def fault_in_catalogue(source: Source, chunk: Chunk, fault: CorruptData) -> tuple[str | None, str]:
    """The code of the catalogue for a fault of a reader, and the message; no code for those that other rules report."""
    code = _plain(fault.code)
    words = words_of(fault)
    sentence = f"{words[0].upper()}{words[1:]}."
    if code in _OF_FRAMES:
        return _frame_fault(source, chunk, fault, code)
    if code in _OF_MESSAGES:
        return _OF_MESSAGES[code], sentence
    values = fault.values
    if code in ("record-structure-invalid", "record-count-too-high") and "at" in values:
        why = record_bytes.why_unreadable(values["data"], values["at"], values["data_end"])
        if code == "record-structure-invalid" and why is not None:
            return why.code, f"{why.message}."
        if why is not None and why.code == "varint-truncated" and values["at"] < values["data_end"]:
            return why.code, f"{why.message}."
    if code == "record-body-mismatch" and values["size"] <= 0:
        return "record-length-bad", f"a record says it is {values['size']:,} bytes long."
    known = _OF_RECORDS.get(code)
    return known, sentence if known == "decompression-limit" or chunk.is_legacy else f"{words}."


def _frame_fault(source: Source, chunk: Chunk, fault: CorruptData, code: str) -> tuple[str, str]:
    """The same for a fault of a compressed stream, where the message may say more than the code."""
    name = chunk.batches["compresscodec"][0]
    words = words_of(fault)
    sentence = f"{words[0].upper()}{words[1:]}." if name in words.lower() else f"The {name} stream cannot be read: {words}."
    payload = _payload(source, chunk)
    if payload is None:
        return _OF_FRAMES[code], sentence
    codec = CODECS.index(name)
    if not payload and chunk.is_legacy:
        return "legacy-wrapper-empty", "A compressed message has an empty value."
    if code == "frame-bad-header":
        if codec == LZ4 and lz4.has_legacy_header(payload):
            magic = chunk.batches["magic"][0]
            message = f"The LZ4 header has the checksum of clients before magic 1; readers of magic {magic} refuse it."
            return "lz4-legacy-header", message
        like = codecs.resembles(payload)
        looks = f" The bytes look like {like}." if like not in (None, name) else ""
        return "frame-bad-header", f"The payload is not {name}: {words}.{looks}"
    if "claimed" in fault.values:
        return "declared-size-forged", sentence
    if code in _MAY_TRAIL:
        found = codecs.inspect_frames(codec, payload)
        if codec == ZSTD and found.window > MAX_WINDOW:
            message = f"A zstd frame asks for a window of {found.window:,} bytes; the limit is {MAX_WINDOW:,}."
            return "declared-size-forged", message
        all_there = fault.values["decoded"] >= (chunk.batches["count"][0] or 0) > 0
        if all_there and codec in (SNAPPY, ZSTD) and 0 < found.end < len(payload):
            fault.values["trailing"] = len(payload) - found.end
            return "frame-trailing-bytes", f"{counted(len(payload) - found.end, 'byte')} after the end of the {name} stream."
        if codec == ZSTD and "checksum" in fault.message:
            return "frame-checksum-mismatch", sentence
    return _OF_FRAMES[code], sentence


def _payload(source: Source, chunk: Chunk) -> bytes | None:
    """The compressed payload of the only batch of a chunk, unless it is too large to be held."""
    if chunk.batches["size"][0] > _MAX_HELD_BYTES:
        return None
    if chunk.is_legacy:
        payload = payload_of_wrapper(chunk, 0, source)
        return None if payload is None else payload.data
    return record.bytes_of(source, chunk, 0)[BATCH_HEADER_SIZE:]
