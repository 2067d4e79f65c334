"""Checkpoints in lines of text."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.source import Source
from kdump.formats import text_checkpoint
from kdump.formats.text_checkpoint import EPOCH_FIELDS, Line, TextCheckpoint
from tests.builders.files import checkpoint
from tests.loops import each
from tests.support import opened


def _lines(path: Path, data: bytes, fields: tuple[tuple[str, int], ...] = EPOCH_FIELDS) -> list[Line]:
    path.write_bytes(data)
    with Source(str(path)) as source:
        return list(TextCheckpoint(source, fields).lines())


def _codes(path: Path, data: bytes) -> list[str]:
    return [line.fault.code for line in _lines(path, data) if line.fault is not None]


@given(st.binary(max_size=300))
def test_any_bytes_are_lines_in_order(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    lines = _lines(tmp_path_factory.mktemp("checkpoint") / "x", data)
    entries = [line for line in lines if line.fault is None or line.fault.code == "checkpoint-line-malformed"]
    assert all(before.end <= after.start for before, after in pairwise(entries))
    assert all(0 <= line.start < line.end <= len(data) for line in lines)


@each(
    ("data", "codes"),
    [
        *((b"", []), (b"0\n", ["checkpoint-cut"]), (b"0\n0\n", [])),
        *((b"%d\n0\n" % version, ["checkpoint-version-unknown"]) for version in (-1, 1)),
        *((b"0\n1\n", ["checkpoint-count-mismatch"]), (b"0\n1\n0 0 0\n", ["checkpoint-line-malformed"])),
        (b"0\n1\n0 0\n\n", ["checkpoint-line-malformed", "checkpoint-count-mismatch"]),
        (b"0\n1\n2147483648 0\n", ["checkpoint-line-malformed"]),
        (b"0\n1\n 0 0\n", ["checkpoint-line-malformed"]),  # Java finds an empty first word
        (bytes(14), ["checkpoint-line-malformed"]),
    ],
)
def test_what_is_wrong_is_reported_apart(tmp_path: Path, data: bytes, codes: list[str]) -> None:
    assert _codes(tmp_path / "x", data) == codes


@each(
    ("data", "message", "is_reset"),
    [
        *((b"0\n1\n", "line 2 says that 1 entry follows, but 0 do", False), (b"0\n-1\n", "says that -1 entries follow", True)),
        *((b"0\n0\n7 7\n", "that 0 entries follow, but 1 does", False), (b"0\n1\n7 x\n", "start offset in line 3", True)),
        *((b"0\n1\n7 7 7\n", "line 3 has 3 words", False), (b"x\n0\n", "line 1 should be", False)),
    ],
)
def test_a_count_below_zero_and_a_word_for_a_number_make_a_start_forget_all_offsets(
    tmp_path: Path, data: bytes, message: str, is_reset: bool
) -> None:
    (line,) = [line for line in _lines(tmp_path / "x", data) if line.fault is not None]
    assert line.fault is not None and message in line.fault.message and line.is_reset is is_reset
    with opened(b"0\n2\n0 0\n7 7\n") as source:
        assert [line.fault for line in TextCheckpoint(source, EPOCH_FIELDS, end=8).lines()] == [None]  # the rest is not counted


def test_reading_ends_after_very_many_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0\n9\n" + b"\n" * 5000)
    with Source(str(path)) as source:
        reader = TextCheckpoint(source, EPOCH_FIELDS)
        assert len(list(reader.lines())) == 1024
        assert reader.position == 4 + 1024


def test_a_line_without_end_is_read_in_pieces(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "x", b"0\n1\n" + b"7" * 10_000)
    assert [(line.start, line.end) for line in lines if line.number > 2] == [(4, 4100), (4100, 8196), (8196, 10_004)]


def _entry_of(path: Path, topic: str, partition: int) -> object:
    with Source(str(path)) as source:
        found = text_checkpoint.entry_of(source, topic, partition)
    return found and found.values


def test_the_entry_of_a_partition_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x"
    entries = [("topic", number, number * 2) for number in reversed(range(100_000))]
    path.write_bytes(checkpoint(entries=[*entries, ("topic.more", 5, 1), ("bad", 5, "x"), ("more", 3, 77)]))
    for found in (("topic", 99_999, 199_998), ("topic", 9, 18), ("more", 3, 77)):
        assert _entry_of(path, *found[:2]) == found
    assert [_entry_of(path, *none) for none in (("opic", 5), ("topic", 100_000), ("bad", 5))] == [None] * 3


def test_the_entry_of_a_partition_is_found_across_the_pieces_that_are_read(tmp_path: Path) -> None:
    entry = b"topic 7 1200\n"
    for before in range((1 << 20) - len(entry) - 1, (1 << 20) + 2):
        (tmp_path / "x").write_bytes(b"x" * (before - 1) + b"\n" + entry)
        assert _entry_of(tmp_path / "x", "topic", 7) == ("topic", 7, 1200), before


_TOPIC, _HIGHEST = text_checkpoint.OFFSET_FIELDS, (1 << 63) - 1


@each(
    ("text", "fields", "values"),
    [
        *((text, EPOCH_FIELDS, (5, 7)) for text in ("5 7", "5 7\r", "+5\t007", "5\x0b \f7 \t", "5 7   ", "٥ 7", "0000000005 7")),
        *((f"{epoch} {start}", EPOCH_FIELDS, (epoch, start)) for epoch, start in ((-5, -7), (0, _HIGHEST), ((1 << 31) - 1, 0))),
        *((text, EPOCH_FIELDS, ()) for text in (" 5 7", "\t5 7", "5", "5 7 7", "a 5 7", "5 x", "5 7.", "2147483648 7", "5\x857")),
        *((text, EPOCH_FIELDS, ()) for text in (f"5 {_HIGHEST + 1}", "5 7\0", "", "-", "5-7")),
        *((f"{topic} 5 7", _TOPIC, (topic, 5, 7)) for topic in ("a", "-1", "", "é", "a.b_c-d")),
        ("a 5 7\r", _TOPIC, ("a", 5, 7)),
        *((text, _TOPIC, ()) for text in ("5 7", "a b 5 7", "a 2147483648 7", f"a 5 {_HIGHEST + 1}", "a 5", "a  x 7")),
    ],
)
def test_an_entry_is_what_java_splits_and_reads(
    text: str, fields: tuple[tuple[str, int], ...], values: tuple[object, ...]
) -> None:
    first = (1, 2) if fields == EPOCH_FIELDS else ("t", 1, 2)
    before = " ".join(map(str, first))
    with opened(f"0\n2\n{before}\n{text}\n{before}".encode()) as source:
        entries = [first, *([values] if values else []), first]
        assert list(TextCheckpoint(source, fields).entries()) == entries
        assert [line.values for line in TextCheckpoint(source, fields).lines() if line.values] == entries
    with opened(f"0\n1\n{text}".encode()) as source:
        assert text_checkpoint.last_entry(source, fields) == values
        if fields == _TOPIC:
            found = text_checkpoint.entry_of(source, text.split(" ")[0], 5)
            assert (() if found is None else (found.values, found.start)) == ((values, 4) if values else ())


def test_lines_are_where_they_stand() -> None:
    with opened(b"0\r\n3\n7 9\n\n8 10") as source:
        places = [(line.number, line.start, line.end, line.values) for line in TextCheckpoint(source, EPOCH_FIELDS).lines()]
    assert places == [(3, 5, 9, (7, 9)), (4, 9, 10, ()), (5, 10, 14, (8, 10))]


def test_a_checkpoint_is_written_as_a_broker_does() -> None:
    assert text_checkpoint.packed([("a", 5, 7), ("\udcff", 0, 0)]) == b"0\n2\na 5 7\n\xff 0 0\n"
