"""`kdump redact` leaves nothing of the contents of records, and everything else, damage included."""

import json
import random
import shutil
import zlib
from bisect import bisect_right
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import crc32c
import pytest

import kdump
from campaigns import damage, incidents, redactions
from kdump.binary import codecs
from kdump.cli.commands import main
from kdump.errors import UsageError
from kdump.formats import partition_metadata, tree
from kdump.formats.ranges import Range
from kdump.mending.redact import redact
from kdump.mending.redact.contents import Contents
from kdump.mending.redact.redacting import Redacting, _control_value
from kdump.mending.row import RedactDifference, RedactedFile
from tests import restarts
from tests.builders.compression import Codec
from tests.builders.files import checkpoint, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import (
    TIMESTAMP,
    batch,
    encode_message,
    encode_record,
    message,
    message_set,
    record,
    transaction_marker,
    wrapper,
)
from tests.loops import each

FIRST = "00000000000000000000"
SECRET = b"the secret of order 4711"
CODECS: list[Codec] = ["none", "gzip", "snappy", "lz4", "zstd"]
KINDS = (0, 1, 7, 99, 255)
"""Types of control records that are of no quorum."""


def _partition(folder: Path, codec: Codec = "none") -> Path:
    records = [
        record(key=b"customer-%d" % (row % 2), value=SECRET * row, headers=[("trace", b"abcdefgh")], timestamp=TIMESTAMP + row)
        for row in range(40)
    ]
    batches = [
        batch(records=records, base_offset=40 * number, codec=codec, producer_id=7, producer_epoch=0, base_sequence=40 * number)
        for number in range(3)
    ]
    marker = transaction_marker(base_offset=120, producer_id=8)
    write_partition(folder, topic="orders", segments={0: [*batches, marker], 121: [batch(base_offset=121, records=[record()])]})
    return folder / "orders-0"


def _records(directory: Path) -> list[Any]:
    return [row for path in sorted(directory.glob("*.log")) for row in kdump.open(path).records()]


def _redacted(tmp_path: Path, *batches: bytes) -> tuple[list[Any], bytes]:
    """The rows and the log that a run with a seed makes of a partition with these batches."""
    path = write_partition(tmp_path, topic="a", segments={0: list(batches)})
    rows = list(kdump.redact(path, tmp_path / "out", seed="1"))
    return rows, (tmp_path / "out" / f"{FIRST}.log").read_bytes()


def _leaves_nothing_of(contents: list[bytes], old: bytes, tmp_path: Path) -> list[Any]:
    """The rows of a run over a partition with this wrapper, in which the contents were."""
    rows, wanted = _redacted(tmp_path, old)[0], redactions.windows(contents)
    assert redactions.leaked(tmp_path / "a-0", wanted) and not redactions.leaked(tmp_path / "out", wanted)
    return rows


def _holds_secret(data: bytes) -> bool:
    return any(SECRET[at : at + 4] in data for at in range(len(SECRET) - 3))


def _differences(rows: list[RedactedFile | RedactDifference]) -> list[tuple[str, str]]:
    return [(row.code, row.only_in) for row in rows if isinstance(row, RedactDifference)]


def _findings(directory: Path) -> list[tuple[str, str, int | None]]:
    return [(Path(row.path).name, row.code, row.offset_first) for row in kdump.check(directory) if row.path != str(directory)]


# --- contents


OF_BOTH = [{True, False}] * 4 + [{True}, {False}]
UNREAD = ["io-error", "permission-denied", "file-shrank", "file-vanished", "codec-package-missing", "time-limit"]


@each("code, found_in", zip(UNREAD, OF_BOTH, strict=True))
def test_what_a_check_could_not_read_is_not_the_same_in_both(
    code: str, found_in: set[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def findings(path: str, _now: int) -> Counter[tuple[str, str, int | None]]:
        return Counter({(f"{0:020d}.log", code, None): int((tmp_path / "in" in Path(path).parents) in found_in)})

    monkeypatch.setattr(redact, "_findings", findings)
    assert main(["redact", str(_partition(tmp_path / "in")), "-o", str(tmp_path / "out")]) == 3
    assert "could not be examined" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("codec", CODECS)
def test_only_the_contents_change(codec: Codec, tmp_path: Path) -> None:
    source = _partition(tmp_path, codec)
    assert _differences(kdump.redact(source, tmp_path / "out")) == []
    for was, now in zip(_records(source), _records(tmp_path / "out"), strict=True):
        for name in ("offset", "timestamp", "key_size", "value_size", "sequence"):
            assert getattr(now, name) == getattr(was, name)
        if was.offset < 120:
            assert now.key != was.key and now.value != was.value or not was.value
            assert now.value.isalnum() or not now.value
        assert SECRET[:4] not in (now.value or b"") and b"trace" not in str(now.headers).encode()
    for path in (tmp_path / "out").iterdir():
        assert SECRET[:4] not in path.read_bytes() and b"customer" not in path.read_bytes()


def test_equal_contents_stay_equal_and_others_differ(tmp_path: Path) -> None:
    source = _partition(tmp_path)
    kdump.redact(source, tmp_path / "out")
    pairs = {(was.key, now.key) for was, now in zip(_records(source), _records(tmp_path / "out"), strict=True)}
    assert len(pairs) == len({was for was, _ in pairs}) == len({now for _, now in pairs})


def test_a_seed_repeats_a_run_and_chance_does_not(tmp_path: Path) -> None:
    source = _partition(tmp_path)
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2"), ("d", None), ("e", None)):
        kdump.redact(source, tmp_path / name, seed=seed)
    logs = [(tmp_path / name / f"{FIRST}.log").read_bytes() for name in "abcde"]
    assert logs[0] == logs[1]
    assert len(set(logs)) == 4


def test_only_the_chosen_parts_change(tmp_path: Path) -> None:
    source = _partition(tmp_path)
    for part in ("keys", "values", "headers"):
        kdump.redact(source, tmp_path / part, parts=[part])
        was, now = _records(source)[5], _records(tmp_path / part)[5]
        changed = {"keys": now.key != was.key, "values": now.value != was.value, "headers": now.headers != was.headers}
        assert changed == {name: name == part for name in changed}
    with pytest.raises(UsageError, match="records have no 'topics'"):
        kdump.redact(source, tmp_path / "out", parts=["topics"])


def test_fields_of_json_can_be_kept(tmp_path: Path) -> None:
    value = b'{"order": {"id": 4711, "who": "Ann \\"A\\" Lee"}, "lines": [{"sku": "x1", "n": -2.5e3}], "ok": true, "note": null}'
    values = value, b"{not JSON: 4711}", '{"id": "secret"}'.encode("utf-16-le"), b'[{"ok": 7}, "4711", {"ok": 7}]'
    write_partition(tmp_path, topic="a", segments={0: [batch(records=[record(value=one) for one in values])]})
    kdump.redact(tmp_path / "a-0", tmp_path / "out", keep_fields=["order.id", "lines.sku", "ok"])
    first, *others, array = _records(tmp_path / "out")
    found = json.loads(first.value)
    (other,) = set(found) - {"order", "lines", "ok"}
    (who,) = set(found["order"]) - {"id"}
    (line,) = found["lines"]
    assert (found["order"]["id"], line["sku"], found["ok"], found[other]) == (4711, "x1", True, None)
    assert line == {"sku": "x1", next(name for name in line if name != "sku"): -1.1e1}
    assert who != "who" and other != "note" and "Ann" not in found["order"][who] and len(first.value) == len(value)
    assert all(row.value.isalnum() for row in others), "replaced as a whole"
    assert b"4711" not in array.value and json.loads(array.value)[::2] == [{"ok": 7}] * 2


@each("codec", ["none", "lz4"])
def test_what_is_beyond_a_known_field_does_not_stay(codec: Codec, tmp_path: Path) -> None:
    """After the value of a message, and after the type of a control record, known or not, and the epoch of a marker."""
    odd = [record(key=key, value=bytes(6) + SECRET) for key in (None, b"", *(bytes((0, 0, 0, kind)) + SECRET for kind in KINDS))]
    negative = int.from_bytes(b"\xff" + SECRET[:3], "big", signed=True)
    old = [message(magic=magic, key=b"k", value=SECRET, value_length=size) for magic in (0, 1) for size in (3, negative)]
    bits: dict[str, Any] = {"attributes": 0x30 | (3 if codec == "lz4" else 0), "codec": codec, "producer_id": 7}
    segments = {4 + row: [batch(base_offset=4 + row, records=[one], **bits)] for row, one in enumerate(odd)}
    path = write_partition(tmp_path, topic="a", segments={0: [message_set(messages=old)], **segments})
    kdump.redact(path, tmp_path / "out")
    for base in (0, *segments):
        log = (tmp_path / "out" / f"{base:020}.log").read_bytes()
        assert not _holds_secret(log) and SECRET[:3] not in log, base
        if base and codec == "lz4":
            assert not _holds_secret(bytes(codecs.decompress(3, log[61:], 2, limit=1 << 20).data)), base


# --- companions


def _incompressible(size: int) -> list[bytes]:
    """Batches with random values, which take less when they are redacted."""
    records = [record(value=random.Random(row).randbytes(size)) for row in range(4)]
    return [batch(records=records, base_offset=4 * number, codec="zstd") for number in range(6)]


def test_files_that_a_broker_is_about_to_delete_are_redacted_and_foreign_ones_as_a_whole(tmp_path: Path) -> None:
    source = _partition(tmp_path)
    (source / f"{FIRST}.log.deleted").write_bytes((source / f"{FIRST}.log").read_bytes())
    foreign = "notes.txt", "partition.metadata.bak", f"{FIRST}.log.deleted.swap", f"{FIRST}.deleted.cleaned"
    for name in foreign:
        (source / name).write_bytes(SECRET + b"\xe4\1\xf6\0")
    assert _differences(kdump.redact(source, tmp_path / "out")) == []
    deleted = tmp_path / "out" / f"{FIRST}.log.deleted"
    assert SECRET[:4] not in deleted.read_bytes()
    assert [row.offset for row in kdump.open(deleted).records()] == list(range(121))
    for name in foreign:
        assert (tmp_path / "out" / name).read_bytes() == b"x" * (len(SECRET) + 4), name


@each("suffix", [".timeindex", ".index", ".txnindex", ".snapshot"])
@each("text", [b"4711-3", b"card 4111-1111", b"card 4111-1111 of Ann Lee"])
def test_a_damaged_companion_has_no_text_left_however_short(text: bytes, suffix: str, tmp_path: Path) -> None:
    source = _partition(tmp_path)
    companion = source / f"{FIRST}{suffix}"
    companion.write_bytes(bytes(24) + text + b"\x01" * 7)
    kdump.redact(source, tmp_path / "out")
    made = (tmp_path / "out" / companion.name).read_bytes()
    assert made.translate(None, b"\x00\x01x") == b""
    assert len(made) == companion.stat().st_size


METADATA = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "partition.metadata"])
@pytest.mark.parametrize("sound", ["", "0\n1\n0 0\n", METADATA + "\n", METADATA.ljust(partition_metadata.MAX_SIZE, "\n")])
def test_no_word_is_left_in_the_text_files_of_a_partition(sound: str, name: str, tmp_path: Path) -> None:
    source = _partition(tmp_path)
    (source / name).write_text(f"{sound}Smith secret: 0\n")
    kdump.redact(source, tmp_path / "out")
    made = (tmp_path / "out" / name).read_text()
    assert len(made) == len(sound) + 16 and not any(word in made for word in ("Smith", "secret"))


@pytest.mark.parametrize("place", [0, 20, -7, (1 << 20) - 3, (1 << 20) - 20])
def test_no_text_is_left_in_an_index_whose_positions_move_nor_across_windows(place: int, tmp_path: Path) -> None:
    """Indexes are read in windows of 1 MiB; every second field of an offset index is a position."""
    text = b"card 4111-1111 of Ann Lee"[: -place if place < 0 else None]
    source = _partition(tmp_path, "gzip")
    sizes = {}
    for suffix in (".index", ".timeindex"):
        data = bytearray((1 << 20) + 64 if place > 20 else 64)
        data += bytes(7) if place < 0 else b""  # which are no entry
        at = place if place >= 0 else len(data) + place
        data[at : at + len(text)] = text
        (source / f"{FIRST}{suffix}").write_bytes(data)
        sizes[suffix] = len(data)
    rows = kdump.redact(source, tmp_path / "out", parts=["keys", "values", "headers"])
    for suffix, size in sizes.items():
        made = (tmp_path / "out" / f"{FIRST}{suffix}").read_bytes()
        (filled,) = (row.filled for row in rows if isinstance(row, RedactedFile) and row.path == f"{FIRST}{suffix}")
        assert (len(made), filled) == (size, len(text))
        assert not [word for word in text.split() if len(word) > 1 and word in made], suffix
        assert not any(text[at : at + 3] in made for at in range(len(text) - 2)), suffix


# --- damage


def test_nothing_is_left_of_any_batch_with_a_wrong_bit_nor_of_what_follows_it() -> None:
    """Wherever in its header the bit is, and whether its end is cut off; also of a sound one, and of what is taken for none."""
    inner = [message(value=SECRET, magic=1)] * 3
    sound = [batch(records=[record(key=SECRET, value=SECRET)] * 3, codec=codec) for codec in CODECS[:2]]
    sound += [encode_message(message(key=SECRET, value=SECRET, magic=magic)) for magic in (0, 1)] + [wrapper(messages=inner)]
    redacting, parts = Redacting(Contents(b"1")), [SECRET[at : at + 4] for at in range(len(SECRET) - 3)]
    for data in sound:
        for place in range(-1, min(len(data), 70)):
            wrong = bytearray(data)
            if place >= 0:
                wrong[place] ^= 1 << place % 8
            rests = bytes(wrong), bytes(wrong[:-1]), bytes(wrong) + SECRET, bytes(wrong) + SECRET * 20
            for given in (*rests, SECRET[:12] + bytes(wrong[12:-1])):
                for made in (redacting.damaged(given), redacting.garbage(given)):
                    assert len(made) == len(given) and not any(part in made for part in parts), (place, given)
    assert not any(part in redacting.garbage(bytes(3) + SECRET * 3) for part in parts), "an offset that may be one"


@each(
    "damaged",
    [
        lambda log: log[:200] + b"?" + log[201:],  # the CRC of a batch
        lambda log: log[:-30],  # torn
        lambda log: log + SECRET * 20,  # garbage at the end
        lambda log: log + SECRET * 60_000,  # that is longer than what is read at once
        lambda log: SECRET + log + SECRET + log[-200:] + SECRET,  # the same fault several times
        lambda log: log[:100] + bytes(5000) + log[5100:],  # zeros
        lambda log: log[:16] + b"\x07" + log[17:],  # magic
        lambda log: log[:8] + b"\x00\x00\x00\x40" + log[12:],  # length
        lambda log: log + bytes(4096),  # preallocated
        lambda log: SECRET + log,  # not at the start
        lambda log: log + SECRET[:16] + b"\2",  # a torn header
        lambda log: log + bytes(8) + b"\0\0\1\0" + bytes(4) + b"\2" + SECRET[:4] + bytes(60),  # a checksum
    ],
)
@each("codec", ["none", "zstd"])
def test_damage_stays_where_it_is(damaged: Any, codec: Codec, tmp_path: Path) -> None:
    source = _partition(tmp_path, codec)
    path = source / f"{FIRST}.log"
    path.write_bytes(damaged(path.read_bytes()))
    result = redact.run(str(source), str(tmp_path / "out"), Range())
    assert (result.differences, result.findings) == ([], len(kdump.check(source)))
    assert _findings(tmp_path / "out") == _findings(source)
    assert SECRET[:4] not in (tmp_path / "out" / f"{FIRST}.log").read_bytes()


def _checksum(covered: bytes) -> bytes:
    return crc32c.crc32c(covered).to_bytes(4, "big")


def _damaged_payloads(codec: Codec) -> list[bytes]:
    """Payloads in all framings, whole and damaged in one place."""
    records = b"".join(
        encode_record(record(key=b"customer-%d" % row, value=SECRET, headers=[("trace", b"abcdefgh")]), row=row)
        for row in range(4)
    )
    found = []
    for compress in damage.FRAMINGS[CODECS.index(codec)]:
        payload = compress(records)
        found += [payload, payload + b"more", payload + bytes(4), payload[:4] + b"?" + payload[5:]]
        found += [payload[:size] for size in (5, 12, len(payload) // 2, len(payload) - 5, len(payload) - 1)]
        for position in range(8, len(payload), 7):
            changed = payload[position] ^ 1 << position % 8
            found.append(payload[:position] + bytes([changed]) + payload[position + 1 :])
    return found


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_batch_whose_payload_is_damaged_becomes_its_header_and_filler(codec: Codec, tmp_path: Path) -> None:
    payloads = _damaged_payloads(codec)
    batches = [
        batch(base_offset=4 * row, codec=codec, payload=payload, records_count=4, last_offset_delta=3)
        for row, payload in enumerate(payloads)
    ]
    path = write_partition(tmp_path, topic="a", segments={0: batches})
    rows = kdump.redact(path, tmp_path / "out", seed="1")
    log = (tmp_path / "out" / f"{FIRST}.log").read_bytes()
    found = kdump.check(path, level="deep", max_findings=len(payloads))
    of_damage = {row.offset_first for row in found if row.severity == "error" and row.code != "record-count-too-high"}
    filled = {}
    for entry, payload, before in zip(damage.entries(log), payloads, batches, strict=True):
        header, after = log[entry.position : entry.position + 61], log[entry.position + 61 : entry.end]
        assert header[12:17] + header[21:] == before[12:17] + before[21:61]
        assert header[17:21] == _checksum(header[21:] + after)
        if after == b"x" * len(payload):
            filled[int.from_bytes(header[:8], "big")] = len(payload)
        else:
            text = bytes(codecs.decompress(CODECS.index(codec), after, 2, limit=1 << 20).data)
            assert len(text) > 100 and not any(one in text for one in (SECRET[:4], b"abcd", b"cust"))
    assert of_damage <= set(filled) and 20 < len(filled) < len(payloads)
    assert sum(row.filled for row in rows if isinstance(row, RedactedFile)) == sum(filled.values())
    assert redactions.differing(rows, path, tmp_path / "out") == []
    assert not any(one in log for one in (SECRET[:4], b"abcd", b"cust"))


BROKEN: list[dict[str, Any]] = [
    *({"length": length} for length in (-2, 5, 5000, 0x7FFFFFFF, b"\xff" * 10)),
    *({"key_length": length} for length in (2000, -5)),
    {"value_length": len(SECRET) + 3},
    {"headers_count": 1, "trailing": b"\0"},
    *({"headers_count": count} for count in (-1, 9, b"\x80\x80\x80\x80\x80\x80\0")),
    *({"trailing": trailing} for trailing in (SECRET, b"\x80")),
]


@each("fields", BROKEN, ids=str)
@each("codec", ["none", "lz4"])
def test_a_batch_with_a_broken_record_becomes_its_header_and_filler(fields: dict[str, Any], codec: Codec, tmp_path: Path) -> None:
    sound, broken = record(key=b"a", value=SECRET), record(key=SECRET, value=SECRET, **fields)
    batches = [batch(base_offset=3 * row, records=[sound, broken, sound], codec=codec) for row in range(2)]
    batches.append(batch(base_offset=6, records=[sound], codec=codec, magic=3))  # what its records are nobody knows
    rows, log = _redacted(tmp_path, *batches)
    covered = [one[21:61] + b"x" * (len(one) - 61) for one in batches]
    assert log == b"".join(one[:17] + _checksum(after) + after for one, after in zip(batches, covered, strict=True))
    (of_log,) = (row for row in rows if isinstance(row, RedactedFile) and row.path.endswith(".log"))
    assert (of_log.batches, of_log.records, of_log.filled) == (3, 0, sum(map(len, batches)) - 3 * 61)
    assert {row.offset_first for row in kdump.check(tmp_path / "out", level="deep") if row.severity == "error"} == {0, 3, 6}


@each("codec", CODECS)
def test_a_batch_whose_checksum_is_wrong_becomes_its_header_and_filler(codec: Codec, tmp_path: Path) -> None:
    wrong = batch(records=[record(key=SECRET, value=SECRET, timestamp=TIMESTAMP)], codec=codec, crc=7)
    rows, log = _redacted(tmp_path, wrong, _one(1))
    assert log[61 : len(wrong)] == b"x" * (len(wrong) - 61) and log[len(wrong) : len(wrong) + 17] == _one(1)[:17]
    assert sum(row.filled for row in rows if isinstance(row, RedactedFile)) == len(wrong) - 61
    assert [row.offset_first for row in kdump.check(tmp_path / "out") if row.code == "crc-mismatch"] == [0]


WRONG_FIELDS: list[dict[str, Any]] = [
    {"last_offset_delta": -1_636_320_042},
    {"base_sequence": -2049},
    {"records_count": -5},
    {"records_count": 1 << 30},
    {"base_timestamp": -TIMESTAMP, "max_timestamp": TIMESTAMP},
    {"producer_id": -77},
]
THREE = [record(value=SECRET, timestamp=TIMESTAMP + row) for row in range(3)]


def _one(offset: int, codec: Codec = "none", value: bytes = SECRET) -> bytes:
    return batch(base_offset=offset, records=[record(value=value)], codec=codec)


def _header(magic: int, length: int) -> bytes:
    """Garbage that looks like the header of a batch."""
    return (9).to_bytes(8, "big") + length.to_bytes(4, "big", signed=True) + bytes(4) + bytes([magic]) + b"\0" * 9 + SECRET


WRONG: dict[str, dict[int, list[bytes]]] = {
    **{str(one): {0: [batch(records=THREE, codec="zstd", **one), batch(records=THREE, base_offset=3)]} for one in WRONG_FIELDS},
    "a torn header after a negative offset": {0: [batch(records=THREE, last_offset_delta=-807_049_216), SECRET[:10]]},
    "two bytes before a batch": {0: [_one(0, "gzip", SECRET * 40), bytes(2), _one(10, "gzip", SECRET * 40)]},
    **{
        f"garbage that looks like a header of magic {magic} and length {length}": {0: [_one(0), _header(magic, length)]}
        for magic in (0xFF, 0, 2)
        for length in (70, 0x0400_0042, 0x6ED6_9900, -5)
    },
    # above those of the log by more than it may have
    "distances of impossible offsets": {0: [_one(offset) for offset in (0, *((1 << 41) + row for row in range(1, 9)))]},
    **{  # those after them are negative, or not
        f"an offset of {offset}": {
            0: [batch(base_offset=one, records=3 * [record(value=SECRET)], codec="zstd") for one in (0, offset, 3)],
            6: [batch(base_offset=6)],
        }
        for offset in ((1 << 63) - 1, (1 << 63) - 3, -(1 << 63), -2)
    },
}


@each("segments", WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_headers_stays(segments: dict[int, list[bytes]], tmp_path: Path) -> None:
    path = write_partition(tmp_path, topic="a", segments=segments)
    assert _differences(kdump.redact(path, tmp_path / "out", seed="1")) == []


@pytest.mark.parametrize("later", [0, 1_500_000])
def test_a_time_of_a_damaged_header_keeps_its_place_among_those_of_the_time_index(later: int, tmp_path: Path) -> None:
    """The index has it, or the header is later than all that the index has."""
    fields: dict[str, Any] = {"producer_id": -(1 << 48), "records_count": -955_590_155, "base_timestamp": TIMESTAMP - 777}
    damaged = batch(records=[record(value=SECRET)], max_timestamp=TIMESTAMP + 1 + later, **fields)
    sound = batch(records=[record(value=SECRET, timestamp=TIMESTAMP + 1)])
    path = write_partition(tmp_path, topic="a", segments={0: [sound], 1: [batch(base_offset=1)]})
    (path / f"{FIRST}.log").write_bytes(damaged)
    codes = {row.code for row in kdump.check(path)}
    assert "producer-fields-odd" in codes
    assert ("timeindex-timestamp-mismatch" in codes) == bool(later)
    assert _differences(kdump.redact(path, tmp_path / "out")) == []


def test_a_time_of_a_damaged_header_becomes_earlier_unless_it_is_later_than_all_or_in_the_index() -> None:
    coarse = Redacting(Contents(b"1"), 0, lambda: [1000, 5000])._coarse
    before = -1, 999, 1000, 3000, 5000, 5001, 9000
    assert [coarse(time) for time in before] == [-1, 768, 1000, 2816, 5000, 5120, 9216]


INNER = message_set(messages=[message(value=SECRET)])


@each(
    "inner",
    [INNER + bytes(8) + b"\xe4\xb8\xdf\xbc" + SECRET[:5], message(value=SECRET, crc=7), INNER + SECRET, INNER[:-3]],
    ids=["an impossible size", "a checksum", "garbage", "torn"],
)
def test_a_wrapper_that_is_damaged_inside_becomes_its_header_and_filler(inner: bytes, tmp_path: Path) -> None:
    old = wrapper(messages=[inner], base_offset=0, codec="gzip")
    rows, log = _redacted(tmp_path, old)
    (of_log,) = (row for row in rows if isinstance(row, RedactedFile) and row.path.endswith(".log"))
    assert len(log) == len(old) and log.endswith(b"x" * of_log.filled) and len(old) - of_log.filled < 40
    assert any(row.severity == "error" for row in kdump.check(tmp_path / "out", level="deep"))


@pytest.mark.parametrize("magic", [0, 1])
def test_contents_in_the_place_of_the_offset_of_a_message_in_a_wrapper_do_not_stay(magic: int, tmp_path: Path) -> None:
    content = bytes.fromhex("f5e4fce4b7fccec2")
    offsets = [0, int.from_bytes(content, "big", signed=True), 2]
    messages = [message(value=SECRET, magic=magic) for _ in offsets]
    old = wrapper(messages=messages, magic=magic, inner_offsets=offsets, codec="snappy")
    assert _differences(_leaves_nothing_of([content, SECRET], old, tmp_path)) == []


LONG = [_one(0, "gzip", SECRET * 40), _one(1)]
SHRINKING = [_one(offset, "zstd", bytes(range(256))) for offset in range(2)]
"""Batches that take less when they are redacted."""


@each(
    "batches, length, code",
    [
        (LONG, len(LONG[0]) - 11, "batch-length-mismatch"),  # the checksum fits another
        (LONG, 0x7FFFFFFF, "batch-length-absurd"),
        (SHRINKING, 49, "batch-length-mismatch"),  # the shortest that a batch may have
    ],
)
def test_a_wrong_length_stays_wrong(batches: list[bytes], length: int, code: str, tmp_path: Path) -> None:
    path = write_partition(tmp_path, topic="a", segments={0: batches})
    log = (path / f"{FIRST}.log").read_bytes()
    (path / f"{FIRST}.log").write_bytes(log[:8] + length.to_bytes(4, "big") + log[12:])
    assert _differences(kdump.redact(path, tmp_path / "out", seed="1")) == []
    assert code in {row.code for row in kdump.check(tmp_path / "out")}


def test_contents_that_a_header_consists_of_do_not_stay_though_its_checksum_fits(tmp_path: Path) -> None:
    source = _partition(tmp_path)
    path = source / f"{FIRST}.log"
    covered = bytes(2) + (SECRET * 2)[:38] + bytes(20)
    size = (4 + 1 + 4 + len(covered)).to_bytes(4, "big")
    path.write_bytes(bytes(8) + size + bytes(4) + b"\2" + _checksum(covered) + covered + path.read_bytes())
    kdump.redact(source, tmp_path / "out", seed="1")  # by chance, 1 of 250 has " of " again
    assert not _holds_secret((tmp_path / "out" / f"{FIRST}.log").read_bytes())


@each("head", [SECRET[:8], b"\xd8" + SECRET[:7], (5).to_bytes(8, "big")])
def test_contents_before_what_a_checksum_covers_do_not_stay(head: bytes, tmp_path: Path) -> None:
    one = _one(3, value=SECRET * 3)
    of_one = head + one[8:12] + SECRET[:4] + one[16:]
    wrong_length = head + SECRET[8:12] + SECRET[4:8] + one[16:]
    log = _redacted(tmp_path, EMPTY[0], of_one, head + INNER[8:], wrong_length, EMPTY[9])[1]
    assert not _holds_secret(log)
    write_partition(tmp_path / "one", topic="a", segments={0: [EMPTY[0], head + _one(0)[8:], EMPTY[9]]})
    assert _differences(kdump.redact(tmp_path / "one" / "a-0", tmp_path / "again", seed="1")) == []
    assert not _holds_secret((tmp_path / "again" / f"{FIRST}.log").read_bytes())


EMPTY = {offset: batch(base_offset=offset, records=[record()]) for offset in (0, 2, 4, 9)}


CRC = int.from_bytes(SECRET[:4], "big")
OF_CRC = batch(records=[record(value=SECRET)], crc=CRC, base_offset=1, codec="gzip")
OLD_OF_CRC = wrapper(messages=[message(value=SECRET)], crc=CRC, base_offset=3, codec="gzip")


def test_contents_in_the_place_of_a_checksum_do_not_stay(tmp_path: Path) -> None:
    rows, log = _redacted(tmp_path, EMPTY[0], OF_CRC, EMPTY[2], OLD_OF_CRC, EMPTY[4])
    assert _differences(rows) == [] and SECRET[:4] not in log


def test_an_index_follows_a_log_whose_name_has_fewer_digits_but_not_that_of_a_log_that_is_gone(tmp_path: Path) -> None:
    kdump.reindex(_partition(tmp_path, "zstd"), tmp_path / "sound", config={"index.interval.bytes": 1})
    shutil.copy(tmp_path / "sound" / f"{FIRST}.index", tmp_path / "sound" / f"{FIRST}.index.deleted")
    (tmp_path / "sound" / f"{FIRST}.log").rename(tmp_path / "sound" / "0.log")
    assert _differences(kdump.redact(tmp_path / "sound", tmp_path / "out")) == []
    for name, has_moved in ((f"{FIRST}.index", True), (f"{FIRST}.index.deleted", False)):
        assert ((tmp_path / "out" / name).read_bytes() != (tmp_path / "sound" / name).read_bytes()) == has_moved, name


def test_a_position_stays_at_the_start_of_its_batch_or_inside_whatever_the_size_of_that_is_now() -> None:
    before, after = (0, 100, 200, 300), (0, 100, 110, 400)
    positions = redact._Positions()
    for pair in zip(before, after, strict=True):
        positions.add(*pair)
    moved = list(map(positions.moved, range(320)))
    assert moved == sorted(moved)
    for at, now in enumerate(moved):
        assert (bisect_right(after, now), now in after) == (bisect_right(before, at), at in before), at


def test_a_wrong_length_that_leads_elsewhere_after_batches_have_moved_is_said(tmp_path: Path) -> None:
    batches = _incompressible(500)
    start, end = len(batches[0]), sum(map(len, batches)) - len(batches[5]) // 2
    data = bytearray(b"".join(batches))
    data[start + 8 : start + 12] = (end - start - 12).to_bytes(4, "big")
    data[start + 70] ^= 1
    path = write_partition(tmp_path, topic="a", segments={0: batches})
    (path / f"{FIRST}.log").write_bytes(data)
    differences = _differences(kdump.redact(path, tmp_path / "out"))
    assert differences == [("crc-mismatch", "input"), ("batch-length-absurd", "output")]


@pytest.mark.parametrize("seed", [12, 14])
def test_nothing_is_left_in_damaged_partitions(seed: int, tmp_path: Path, all_cases: bool) -> None:
    """The long form: python -m campaigns.directories --judge redact"""
    for number in range(20 if all_cases else 7):
        chance = random.Random(f"{seed} {number}")
        folder = tmp_path / str(number)
        partition, contents = incidents.write(chance, folder)
        for _ in range(chance.choice((0, 1, 1, 2))):
            path, other = (chance.choice(sorted(partition.glob("*.log"))) for _ in range(2))
            path.write_bytes(damage.damage(".log", path.read_bytes(), other.read_bytes(), chance).data)
        assert redactions.redacted(partition, folder / "out", contents) == ([], []), number
        shutil.rmtree(folder)


def test_a_check_finds_faults_at_the_same_places_in_recorded_directories(tmp_path: Path) -> None:
    """Except for what depends on files beside the partition, and for another fault of a batch that was filled up."""
    (tmp_path / "all").mkdir()
    restarts.unpack(tmp_path / "all")
    directories = sorted({path.parent for path in (tmp_path / "all").rglob("*.log")})
    found = []
    for directory in directories[::75]:
        if not tree.is_metadata_log(str(directory)):
            rows = kdump.redact(directory, tmp_path / "out", seed="1")
            found.append(redactions.differing(rows, directory, tmp_path / "out"))
            shutil.rmtree(tmp_path / "out")
    assert len(found) > 10
    assert sum(bool(one) for one in found) <= 1 + len(found) // 20, found


# --- the command


def test_a_difference_ends_with_exit_code_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = _partition(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 0, 500)]))
    assert main(["redact", str(source), "-o", str(tmp_path / "out")]) == 1
    said = capfd.readouterr().out
    assert "log-start-beyond-end" in said and "is found only in the original" in said and "Exit status 1." in said
    assert not redactions.leaked(tmp_path / "out", redactions.windows([b"customer-0", b"abcdefgh", SECRET]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("orders-0", "name it with -o DIR"),
        ("orders-0 -o {0}", "exists"),
        ("orders-0 -o {0}/orders-0/out", "lies inside"),
        (". -o {0}/out", "is not a partition directory"),
    ],
)
def test_wrong_usage_is_said(words: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _partition(tmp_path)
    name, *rest = words.format(tmp_path).split()
    assert main(["redact", str(tmp_path / name), *rest]) == 2
    assert said in capfd.readouterr().err


def test_the_metadata_of_a_cluster_is_refused(tmp_path: Path) -> None:
    write_partition(tmp_path, topic="__cluster_metadata", segments={0: [batch(records=[record()])]})
    path = (tmp_path / "__cluster_metadata-0").rename(tmp_path / "__cluster_metadata-0.damaged")
    with pytest.raises(UsageError, match="holds the metadata of a cluster"):
        kdump.redact(path, tmp_path / "out")


NINE = [batch(base_offset=row, base_timestamp=TIMESTAMP + row, records=[record(value=SECRET)]) for row in range(9)]


def test_a_range_of_offsets_keeps_its_damage_and_nothing_of_the_rest(tmp_path: Path) -> None:
    batches = [*NINE[:4], flipped(NINE[4], -3), *NINE[5:]]
    source = write_partition(tmp_path / "of", topic="orders", segments={0: batches})
    redact.redact(source, tmp_path / "orders-0", from_offset=3, to_offset=5)
    (log,) = (tmp_path / "orders-0").glob("*.log")
    assert [finding.offset_first for finding in kdump.check(log) if finding.code == "crc-mismatch"] == [4]
    assert log.stat().st_size == sum(map(len, batches[3:6])) and SECRET[4:] not in log.read_bytes()


def test_a_range_of_times_is_that_of_a_slice_and_refuses_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_partition(tmp_path / "of", topic="orders", segments={0: NINE})
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    arguments = ["redact", str(source), "-o", str(tmp_path / "orders-0"), "--from-time", str(TIMESTAMP + 7)]
    assert main(arguments) == 0
    assert [row.offset for row in _records(tmp_path / "orders-0")] == [7, 8]
    (source / f"{FIRST}.log").write_bytes(flipped(b"".join(NINE), -3))
    arguments[3] = str(tmp_path / "again")
    assert main(arguments) == 3
    assert not (tmp_path / "again").exists() and not list((tmp_path / "temporary").iterdir()), "no slice is left behind"


# --- models


def _document(chance: random.Random, depth: int) -> Any:
    """A JSON value of objects with few names, of arrays, texts and numbers."""
    kind = chance.choice(["object", "array", "text", "number"][(0 if depth else 2) :])
    if kind == "object":
        return {name: _document(chance, depth - 1) for name in chance.sample(["id", "user", "kept", "list"], chance.randrange(4))}
    if kind == "array":
        return [_document(chance, depth - 1) for _ in range(chance.randrange(4))]
    return chance.choice(["id", "kept", "secret", "4711"]) if kind == "text" else chance.randrange(200, 999)


def _leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """The texts and numbers of a document in its order, each with the names that lead there."""
    if isinstance(value, dict):
        return [leaf for name, inner in value.items() for leaf in _leaves(inner, (*path, name))]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner, path)]
    return [(path, value)]


@each("seed", range(4))
def test_of_any_document_only_the_kept_fields_stay(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    keep = chance.sample(["id", "user.id", "user", "list.kept", "user.list.id"], 2)
    documents = [_document(chance, 4) for _ in range(60)]
    values = [json.dumps(one).encode() for one in documents]
    path = write_partition(tmp_path, topic="a", segments={0: [batch(records=[record(value=value) for value in values])]})
    kdump.redact(path, tmp_path / "out", keep_fields=keep)
    for was, now in zip(documents, _records(tmp_path / "out"), strict=True):
        found = _leaves(json.loads(now.value))
        assert len(found) == len(_leaves(was))
        for (names, before), (_, after) in zip(_leaves(was), found, strict=True):
            is_kept = any(".".join(names[:count]) in keep for count in range(1, len(names) + 1))
            assert after == before if is_kept else after != before, (keep, was)


@pytest.mark.parametrize("magic", [0, 1])
@each("codec", [1, 2, 3, 4, 7])
def test_nothing_is_left_of_a_compressed_message_inside_a_wrapper(magic: int, codec: int, tmp_path: Path) -> None:
    messages = [message(value=SECRET, magic=magic), message(value=SECRET, magic=magic, attributes=codec)]
    _leaves_nothing_of([SECRET], wrapper(messages=messages, magic=magic), tmp_path)


@each("magic", [0, 1])
def test_nothing_is_left_of_a_number_that_ends_early(magic: int) -> None:
    """Of the size of a key in a message, whose checksum fits, and of the epoch in a marker."""
    start = 18 + 8 * magic
    for size in range(1, 8):
        head = encode_message(message(magic=magic))[:start]
        covered = head[16:] + SECRET[:size]
        old = head[:8] + (4 + len(covered)).to_bytes(4, "big") + zlib.crc32(covered).to_bytes(4, "big") + covered
        made = Redacting(Contents(b"1")).batch(old, is_valid=True)
        assert made[16:start] == old[16:start] and not set(SECRET[:size]) & set(made[start:]), size
        assert _control_value(bytes(2) + SECRET[:size], [0]) == bytes(2) + b"x" * size


def test_a_checksum_that_fits_the_filler_by_chance_fits_no_longer() -> None:
    redacting = Redacting(Contents(b"1"))
    for sequence in count():
        fields: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
        of_filler = crc32c.crc32c(redacting.batch(batch(records=[record(value=SECRET)], crc=1, **fields), is_valid=False)[21:])
        if of_filler < 1 << 24:  # others are not kept in any case
            break
    made = redacting.batch(batch(records=[record(value=SECRET)], crc=of_filler, **fields), is_valid=False)
    assert made[17:21] != _checksum(made[21:]) == of_filler.to_bytes(4, "big")


def test_nothing_is_left_of_the_first_bytes_of_a_header_however_few_there_are(tmp_path: Path) -> None:
    """But the magic, which says what is wrong."""
    for size in range(1, 30):
        path = write_partition(tmp_path / str(size), topic="a", segments={0: [batch(records=[record()])]})
        log, text = path / f"{FIRST}.log", (SECRET * 2)[:size]
        log.write_bytes(log.read_bytes() + text)
        kdump.redact(path, tmp_path / str(size) / "out")
        redacted = (tmp_path / str(size) / "out" / log.name).read_bytes()[-size:]
        assert [at for at, (one, other) in enumerate(zip(text, redacted, strict=True)) if one == other] in ([], [16]), size
