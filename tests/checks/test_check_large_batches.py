"""What `kdump check` says of batches too large to be held: each rule sees their records, whatever limit they exceed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kdump.checks import record_bytes
from kdump.checks.finding import Finding
from kdump.formats.long_headers import headers_at
from tests.builders.compression import Codec, compress
from tests.builders.records import TIMESTAMP, Record, batch, encode_record, record, varint
from tests.checks.findings import of_log
from tests.loops import each

_HEADER_SIZE = 61


def _findings(folder: Path, data: bytes) -> list[Finding]:
    return of_log(folder, data, level="deep", is_pedantic=True)


def _records(count: int, **fields: object) -> bytes:
    """Regular records, of which each delta takes three bytes, so that they are quickly made."""
    one = Record(**fields, offset_delta=10_000)  # type: ignore[arg-type]  # of any field's type
    encoded = encode_record(one)
    delta = varint(10_000)
    at = encoded.index(delta, 2)
    return b"".join(encoded[:at] + varint(10_000 + row) + encoded[at + len(delta) :] for row in range(count))


_MANY_HEADERS = [("h", b"v")] * 100

_TOO_LARGE: dict[str, tuple[Callable[[], bytes], int, Codec]] = {
    "70,000 records": (lambda: _records(70_000), 70_000, "none"),
    "70,000 compressed records": (lambda: _records(70_000), 70_000, "gzip"),
    "140,000 headers": (lambda: _records(1400, headers=_MANY_HEADERS), 1400, "none"),
    "140,000 compressed headers": (lambda: _records(1400, headers=_MANY_HEADERS), 1400, "zstd"),
    "3 MiB": (lambda: _records(3, value=bytes(1 << 20)), 3, "none"),
    "3 MiB compressed": (lambda: _records(3, value=bytes(1 << 20)), 3, "lz4"),
    "3 MiB in one record": (lambda: _records(1, value=bytes(3 << 20)), 1, "none"),
    "a record of 140,000 headers": (lambda: _records(2, headers=_MANY_HEADERS * 1400), 2, "snappy"),
}
"""By the limit that is exceeded: the records, their number, the codec."""

_IRREGULAR = {
    "record-attributes-set": record(value=b"v", attributes=1, offset_delta=90_000),
    "varint-noncanonical": record(value=b"v", value_length=varint(1, size_in_bytes=3), offset_delta=90_000),
    "key-length-bad": record(key_length=-7, offset_delta=90_000),
    "header-bytes-odd": record(headers=[(b"\xff\xfe", b"v")], offset_delta=90_000),
    "timestamp-overflow": record(timestamp_delta=(1 << 63) - 1, offset_delta=90_000),
}
"""By the code of the catalogue."""


def _large(name: str, last: bytes, count: int = 1) -> tuple[bytes, int]:
    """The batch that exceeds this limit and ends with these records, and the size of what comes before them."""
    records, records_count, codec = _TOO_LARGE[name]
    before = records()
    payload = before + last
    data = batch(
        payload=payload if codec == "none" else compress(payload, codec=codec),
        codec=codec,
        records_count=records_count + count,
        last_offset_delta=100_000,
        max_timestamp=TIMESTAMP,
    )
    return data, len(before)


@each("code", _IRREGULAR, share=4)
@each("name", _TOO_LARGE)
def test_the_last_record_of_a_large_batch_is_examined(name: str, code: str, tmp_path: Path) -> None:
    irregular = encode_record(_IRREGULAR[code])
    data, before = _large(name, irregular)
    (finding,) = [found for found in _findings(tmp_path, data) if found.code == code]
    assert finding.offset_first == finding.offset_last == 90_000
    is_placed = _TOO_LARGE[name][2] == "none" and code not in ("header-bytes-odd", "timestamp-overflow")
    start = _HEADER_SIZE + before
    assert (finding.start, finding.end) == ((start, start + len(irregular)) if is_placed else (0, len(data)))


@pytest.mark.parametrize("size", [1, 63, 64, 100, 9000])
def test_keys_of_headers_are_found_in_the_bytes_of_a_record(size: int) -> None:
    encoded = encode_record(record(key=b"key", value=b"v" * size, headers=[("k" * size, b"v" * size), ("", None), ("z", b"")]))
    assert [key for key, _ in headers_at(encoded + encoded, 0)] == [b"k" * size, b"", b"z"]
    assert list(record_bytes.irregular_fields(encoded, 0, len(encoded))) == []
