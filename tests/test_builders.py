"""The builders write the bytes that Kafka writes."""

import gzip
import random
import re
from pathlib import Path
from typing import Any  # fields of several types

import lz4.frame  # the package has no annotations
import pytest
import snappy  # the package has no annotations
import zstandard

from tests.builders.checksums import crc32c, crc32c_byte_by_byte, xxhash32
from tests.builders.compression import gzip_members, lz4_frame, snappy_raw, snappy_xerial, zstd_frames
from tests.builders.files import (
    aborted_transaction,
    checkpoint,
    offset_index,
    partition_metadata,
    producer_entry,
    producer_snapshot,
    time_index,
    transaction_index,
    write_partition,
)
from tests.builders.records import (
    Voter,
    batch,
    kraft_version_record,
    kraft_voters_record,
    leader_change_record,
    message,
    message_set,
    record,
    snapshot_footer_record,
    snapshot_header_record,
    transaction_marker,
    varint,
    varlong,
    wrapper,
)
from tests.loops import each

TEN_KILOBYTES = bytes(range(256)) * 40


def test_the_builders_share_no_code_with_the_readers() -> None:
    sources = list((Path(__file__).parent / "builders").glob("*.py"))
    assert len(sources) == 13
    for source in sources:
        assert not re.search(r"^\s*(import|from) kdump", source.read_text(), re.MULTILINE)


# --- the checksums and varints everything rests on


def test_the_checksums_are_the_published_ones() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    for size in (255, 256, 257, 4096, 100_003):
        data = random.Random(size).randbytes(size)
        assert crc32c(data) == crc32c_byte_by_byte(data)
    assert xxhash32(b"") == 0x02CC5D05
    assert xxhash32(b"abc") == 0x32D153FF
    assert xxhash32(b"Nobody inspects the spammish repetition") == 0xE2293B2F


@each(
    ("value", "encoded"),
    [
        *((0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (64, "8001"), (-65, "8101"), (-99_999, "bd9a0c")),
        *((2**31 - 1, "feffffff0f"), (-(2**31), "ffffffff0f")),
        *((2**63 - 1, "feffffffffffffffff01"), (-(2**63), "ffffffffffffffffff01")),
    ],
)
def test_a_varint_is_zig_zag_of_up_to_ten_bytes(value: int, encoded: str) -> None:
    assert varlong(value).hex() == encoded
    assert varint(value).hex() == encoded or abs(value) > 1 << 31


# --- whole logs that Kafka's own writers made


MAGIC_1_MESSAGES = [message(key=b"k1", value=b"v1", timestamp=1_700_000_000_000), message(key=b"k2", timestamp=1_700_000_000_005)]
MAGIC_0_MESSAGES = [message(magic=0, key=b"k1", value=b"v1"), message(magic=0, key=b"k2")]
PRODUCER: dict[str, Any] = {"partition_leader_epoch": 3, "producer_id": 1234, "producer_epoch": 7}
VOTER = Voter(
    voter_id=1,
    voter_directory_id=bytes.fromhex("0cb590cf547740f8b46d03302d1191e7"),
    endpoints=[("CONTROLLER", "127.0.0.1", 29101)],
    min_supported_version=0,
    max_supported_version=1,
)
IDEMPOTENT_RECORDS = [
    record(key=b"k1", value=b"v1", headers=[("h", b"x")], timestamp=1_700_000_000_000),
    record(key=b"k2", timestamp=1_700_000_000_005),
]
SNAPSHOT_START = [
    snapshot_header_record(last_contained_log_timestamp=0x01A1FC6445A4),
    kraft_version_record(kraft_version=1),
    kraft_voters_record(voters=[VOTER]),
]
NEW_LEADER = leader_change_record(
    leader_id=1,
    voters=[Voter(voter_id=1), Voter(voter_id=2), Voter(voter_id=3)],
    granting_voters=[Voter(voter_id=1), Voter(voter_id=3)],
)
EMPTIED_TIMES: dict[str, Any] = {"base_timestamp": -1, "max_timestamp": 1_700_000_000_000}


@each(
    ("what", "built", "wanted"),
    [
        (
            "an idempotent batch",
            batch(base_offset=5, **PRODUCER, base_sequence=100, records=IDEMPOTENT_RECORDS),
            "0000000000000005000000490000000302a90246480000000000010000018bcfe568000000018bcfe5680500000000000004d200070000"
            "0064000000021c000000046b31047631020268027810000a02046b320100",
        ),
        (
            "its commit marker",
            transaction_marker(base_offset=7, **PRODUCER, coordinator_epoch=42, timestamp=1_700_000_000_009),
            "0000000000000007000000420000000302e15f78f40030000000000000018bcfe568090000018bcfe5680900000000000004d20007ffff"
            "ffff000000012000000008000000010c00000000002a00",
        ),
        (
            "messages of magic 1",
            message_set(base_offset=5, messages=MAGIC_1_MESSAGES),
            "00000000000000050000001aa5da6a6201000000018bcfe56800000000026b31000000027631"
            "000000000000000600000018dcbe14a101000000018bcfe56805000000026b32ffffffff",
        ),
        (
            "a gzip wrapper of magic 1",
            wrapper(base_offset=5, codec="gzip", messages=MAGIC_1_MESSAGES),
            "000000000000000600000055831826bc01010000018bcfe56805ffffffff0000003f1f8b08000000000000ff63608003a9a5b7b2921881"
            "0cc6eef34f3340224cd98620b2cc10aa02242971679fc842b82a56b02aa3ff4000003c0df1bd4a000000",
        ),
        (
            "messages of magic 0",
            message_set(base_offset=5, messages=MAGIC_0_MESSAGES),
            "00000000000000050000001257e7496e0000000000026b310000000276310000000000000006000000108b23e3da0000000000026b32"
            "ffffffff",
        ),
        (
            "a snappy wrapper of magic 0",
            wrapper(base_offset=5, magic=0, codec="snappy", messages=MAGIC_0_MESSAGES),
            "000000000000000600000056081906580002ffffffff0000004882534e41505059000000000100000001000000343a0000090120050000"
            "001257e7496e050f1c026b310000000276010601015006000000108b23e3da0000000000026b32ffffffff",
        ),
        (
            "an emptied batch",
            batch(base_offset=0, **PRODUCER, last_offset_delta=9, base_sequence=5, **EMPTIED_TIMES),
            "000000000000000000000031000000030282914c58000000000009ffffffffffffffff0000018bcfe5680000000000000004d200070000"
            "000500000000",
        ),
        (
            "a batch with a delete horizon",
            batch(
                base_offset=10,
                partition_leader_epoch=4,
                delete_horizon_ms=1_700_000_099_999,
                records=[record(key=b"k", timestamp=1_700_000_000_000)],
            ),
            "000000000000000a0000003b000000040269dd29e90040000000000000018bcfe6ee9f0000018bcfe56800ffffffffffffffffffffffff"
            "ffff000000011200bd9a0c00026b0100",
        ),
        (
            "the header, version and voters of a KRaft snapshot",
            batch(is_control=True, base_timestamp=0x01A1FC6445A8, records=SNAPSHOT_START),
            "00000000000000000000009a0000000002eca9914d002000000002000001a1fc6445a8000001a1fc6445a8ffffffffffffffffffffffff"
            "ffff000000032a0000000800000003160000000001a1fc6445a400001e00000208000000050a0000000100008201000004080000000"
            "66e000002000000010cb590cf547740f8b46d03302d1191e7020b434f4e54524f4c4c45520a3132372e302e302e3171ad00000000010000"
            "0000",
        ),
        (
            "the footer of a KRaft snapshot",
            batch(base_offset=2, is_control=True, base_timestamp=0x01A1FC61CD4C, records=[snapshot_footer_record()]),
            "00000000000000020000003f0000000002d36361ce002000000000000001a1fc61cd4c000001a1fc61cd4cffffffffffffffffffffffff"
            "ffff000000011a00000008000000040600000000",
        ),
        (
            "what a new leader announces",
            batch(base_offset=97, partition_leader_epoch=2, is_control=True, base_timestamp=0x01A1FC6427B7, records=[NEW_LEADER]),
            "00000000000000610000005e000000020229276b09002000000000000001a1fc6427b7000001a1fc6427b7ffffffffffffffffffffffff"
            "ffff00000001580000000800000002440000000000010400000001000000000200000000030003000000010000000003000000",
        ),
    ],
)
def test_whole_logs_are_those_that_kafkas_own_writers_made(what: str, built: bytes, wanted: str) -> None:
    assert built.hex() == wanted


# --- compression


def test_gzip_is_one_member_or_several() -> None:
    assert gzip.decompress(gzip_members(TEN_KILOBYTES)) == TEN_KILOBYTES
    assert gzip.decompress(gzip_members(TEN_KILOBYTES, member_count=3)) == TEN_KILOBYTES
    assert gzip_members(TEN_KILOBYTES, member_count=3).count(b"\x1f\x8b\x08\x00") == 3


def xerial_blocks(framed: bytes) -> list[bytes]:
    blocks = []
    position = 16
    while position < len(framed):
        if framed[position : position + 8] == b"\x82SNAPPY\x00":
            position += 16
        size = int.from_bytes(framed[position : position + 4])
        blocks.append(snappy.decompress(framed[position + 4 : position + 4 + size]))
        position += 4 + size
    return blocks


def test_xerial_blocks_have_the_size_requested_and_their_header_may_be_repeated() -> None:
    blocks = xerial_blocks(snappy_xerial(TEN_KILOBYTES, block_size=1024))
    assert [len(block) for block in blocks] == [1024] * 10
    framed = snappy_xerial(TEN_KILOBYTES, block_size=4096, is_header_repeated=True)
    assert framed.count(bytes.fromhex("82534e4150505900 00000001 00000001")) == 3
    assert b"".join(blocks) == b"".join(xerial_blocks(framed)) == snappy.decompress(snappy_raw(TEN_KILOBYTES)) == TEN_KILOBYTES


@pytest.mark.parametrize(
    ("frame", "descriptor"),
    [
        (lz4_frame(TEN_KILOBYTES * 20), "6040"),
        (lz4_frame(TEN_KILOBYTES, has_content_size=True), "68400028000000000000"),
        (lz4_frame(TEN_KILOBYTES, has_block_checksums=True), "7040"),
        (lz4_frame(TEN_KILOBYTES, has_content_checksum=True), "6440"),
        (lz4_frame(TEN_KILOBYTES * 20, has_dependent_blocks=True), "4040"),
        (lz4_frame(TEN_KILOBYTES, is_stored=True, block_size_code=7), "6070"),
        (lz4_frame(b""), "6040"),
    ],
)
def test_lz4_frames_are_read_by_lz4(frame: bytes, descriptor: str) -> None:
    assert frame.startswith(bytes.fromhex("04224d18" + descriptor))
    plain = lz4.frame.decompress(frame)
    assert plain == TEN_KILOBYTES[: len(plain)] * (len(plain) // len(TEN_KILOBYTES) or 1)


def test_zstd_is_streamed_without_a_content_size_unless_it_is_wanted_also_in_several_frames() -> None:
    frame = zstd_frames(TEN_KILOBYTES)
    assert frame.startswith(bytes.fromhex("28b52ffd0058"))
    assert zstandard.ZstdDecompressor().decompress(frame, max_output_size=100_000) == TEN_KILOBYTES
    assert len(zstd_frames(TEN_KILOBYTES, has_checksum=True)) == len(frame) + 4
    sized = zstd_frames(TEN_KILOBYTES, has_content_size=True)
    assert sized.startswith(bytes.fromhex("28b52ffd60"))
    assert zstandard.frame_content_size(sized) == 10_240
    frames = zstd_frames(TEN_KILOBYTES, frame_count=4, trailing=b"garbage")
    assert (frames.count(bytes.fromhex("28b52ffd")), frames[-7:]) == (4, b"garbage")


# --- the files beside the log


def test_index_entries_are_relative_to_the_base_offset() -> None:
    assert offset_index(base_offset=100, entries=[(104, 241), (108, 482)]).hex() == "00000004000000f100000008000001e2"
    assert time_index(base_offset=100, entries=[(7, 104)], zero_entry_count=1).hex() == (
        "000000000000000700000004000000000000000000000000"
    )


def test_an_aborted_transaction_takes_34_bytes() -> None:
    entry = aborted_transaction(producer_id=1, first_offset=2, last_offset=3, last_stable_offset=4)
    assert transaction_index(entries=[entry]).hex() == ("00000000000000000001000000000000000200000000000000030000000000000004")


def test_a_producer_snapshot_has_a_crc_over_its_entries() -> None:
    entry = producer_entry(
        producer_id=1,
        producer_epoch=2,
        last_sequence=10,
        last_offset=100,
        offset_delta=3,
        timestamp=1_700_000_000_000,
        coordinator_epoch=5,
    )
    assert entry.hex() == ("000000000000000100020000000a0000000000000064000000030000018bcfe5680000000005ffffffffffffffff")
    snapshot = producer_snapshot(entries=[entry], trailing=b"!")
    assert snapshot[:2].hex() == "0001"
    assert int.from_bytes(snapshot[2:6]) == crc32c(snapshot[6:])
    assert snapshot[6:] == b"\x00\x00\x00\x01" + entry + b"!"


def test_checkpoints_are_text() -> None:
    assert checkpoint(entries=[(0, 0), (3, 120)]) == b"0\n2\n0 0\n3 120\n"
    assert checkpoint(entries=[("topic", 0, 5)], version=1, entry_count=9) == b"1\n9\ntopic 0 5\n"
    assert partition_metadata() == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def test_a_partition_has_the_files_a_broker_leaves(tmp_path: Path) -> None:
    first = [batch(base_offset=offset, records=[record(value=b"v", timestamp=offset)] * 2) for offset in (0, 2, 4)]
    second = [batch(base_offset=6, partition_leader_epoch=1, records=[record(timestamp=6)])]
    folder = write_partition(
        tmp_path,
        topic="orders",
        partition=3,
        segments={0: first, 6: second},
        index_interval_bytes=0,
        segment_index_bytes=25,
        aborted_transactions={0: [aborted_transaction()]},
        producer_snapshots={6: [producer_entry()]},
    )
    assert folder == tmp_path / "orders-3"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert files == {
        "00000000000000000000.log": b"".join(first),
        "00000000000000000000.index": offset_index(entries=[(3, 77), (5, 154)]),
        "00000000000000000000.timeindex": time_index(entries=[(2, 3), (4, 5)]),
        "00000000000000000000.txnindex": transaction_index(entries=[aborted_transaction()]),
        "00000000000000000006.log": b"".join(second),
        "00000000000000000006.index": bytes(24),
        "00000000000000000006.timeindex": bytes(24),
        "00000000000000000006.snapshot": producer_snapshot(entries=[producer_entry()]),
        "leader-epoch-checkpoint": b"0\n2\n0 0\n1 6\n",
        "partition.metadata": partition_metadata(),
    }


def test_a_partition_of_old_messages_is_indexed_by_append(tmp_path: Path) -> None:
    appends = [
        message_set(messages=[message(timestamp=5), message(timestamp=4)]),
        wrapper(base_offset=2, messages=[message(timestamp=6), message(timestamp=9)]),
    ]
    folder = write_partition(tmp_path, segments={0: appends}, index_interval_bytes=0)
    assert (folder / "00000000000000000000.index").read_bytes() == offset_index(entries=[(3, 68)])
    assert (folder / "00000000000000000000.timeindex").read_bytes() == time_index(entries=[(9, 3)])
    assert (folder / "leader-epoch-checkpoint").read_bytes() == b"0\n0\n"
