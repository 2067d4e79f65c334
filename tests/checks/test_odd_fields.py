"""Odd fields of records that the kernel in C counts: the rule would have counted as many."""

import random
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary import kernel
from kdump.checks import record_reader
from kdump.checks.rules.records import fields
from tests import kernels
from tests.builders.compression import CODEC_IDS
from tests.builders.records import Record, batch, encode_record, varint
from tests.checks.passed_over import codes_however_read
from tests.loops import of_all_cases

pytestmark = pytest.mark.skipif(kernels.why_no_c() is not None, reason="the kernel in C was not built")

LOGS = 60
CODES = {"record-attributes-set", "varint-noncanonical", "key-length-bad", "header-bytes-odd"}


def odd_record(chance: random.Random, row: int) -> bytes:
    """A record of many forms, which readers accept."""

    def number(value: int, size: int = 5) -> bytes:
        shortest = varint(value)
        kind = chance.randrange(12)
        if kind == 0:
            return varint(value, size_in_bytes=chance.randrange(len(shortest), size + 1))
        if kind == 1 and chance.random() < 0.1:  # bits that nobody reads
            longest = varint(value, size_in_bytes=size)
            return longest[:-1] + bytes([longest[-1] | (0x70 if size == 5 else 0x7E)])
        return shortest

    def sized(lowest: int) -> bytes:
        size = chance.choice((lowest, 0, 1, 3, -2 if lowest else 0))
        return number(size) + b"\xffab"[: max(size, 0)]

    headers = b"".join(sized(0) + sized(-1) for _ in range(chance.choice((0, 0, 0, 1, 2, 5))))
    count = 0
    at = 0
    while at < len(headers):  # the builder of numbers may have changed their sizes, not how many there are
        for _ in range(2):
            size, at = kernel.read_varint(headers, at, len(headers))
            at += max(size, 0)
        count += 1
    attributes = bytes([chance.choice((0, 0, 0, 1))])
    body = attributes + number(row, 10) + number(row) + sized(-1) + sized(-1) + number(count) + headers
    return number(len(body)) + body


def a_log(chance: random.Random) -> bytes:
    """Batches of odd records among ordinary ones."""
    data, offset = b"", 0
    for _ in range(6):
        share, count = chance.choice((0.1, 0.6, 1)), chance.randrange(1, 30)
        records = [
            odd_record(chance, row) if chance.random() < share else encode_record(Record(key=b"k"), row=row)
            for row in range(count)
        ]
        one = batch(records=records, records_count=count, last_offset_delta=count - 1, codec=chance.choice(("none", *CODEC_IDS)))
        data += offset.to_bytes(8, "big") + one[8:]
        offset += count
    return data


@pytest.mark.parametrize(("headers_at_once", "held", "at_once"), [(1 << 12, 1 << 17, 256), of_all_cases(3, 2, 2), (3, 2, 1)])
def test_as_many_odd_fields_are_counted_with_both_kernels(tmp_path: Path, headers_at_once: int, held: int, at_once: int) -> None:
    with (
        mock.patch.object(record_reader, "_MAX_HEADERS_OF_PART", headers_at_once),
        mock.patch.object(record_reader, "_MAX_HELD_HEADERS", held),
        mock.patch.object(fields, "_MOST_AT_ONCE", at_once),
    ):
        codes = codes_however_read((a_log(random.Random(seed)) for seed in range(LOGS)), tmp_path)
    assert {*CODES, "finding-flood"} <= codes
