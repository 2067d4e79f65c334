"""Checkpoints in lines of text."""

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.source import Source
from kdump.formats import text_checkpoint
from kdump.formats.text_checkpoint import EPOCH_FIELDS, OFFSET_FIELDS, Line, TextCheckpoint
from tests.builders.files import checkpoint
from tests.loops import each


def _lines(path: Path, data: bytes, fields: tuple[tuple[str, int], ...] = EPOCH_FIELDS) -> list[Line]:
    path.write_bytes(data)
    with Source(str(path)) as source:
        return list(TextCheckpoint(source, fields).lines())


def _codes(path: Path, data: bytes) -> list[str]:
    return [line.fault.code for line in _lines(path, data) if line.fault is not None]


def test_entries_carry_their_bytes(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "x", b"0\n2\norders 3 1200\nclicks.eu 14 7\n", OFFSET_FIELDS)
    assert [(line.number, line.start, line.end, line.values) for line in lines] == [
        (3, 4, 18, ("orders", 3, 1200)),
        (4, 18, 33, ("clicks.eu", 14, 7)),
    ]


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[int, int]]) -> None:
    lines = _lines(tmp_path_factory.mktemp("checkpoint") / "x", checkpoint(entries=entries))
    assert [line.values for line in lines] == entries


@given(st.binary(max_size=300))
def test_any_bytes_are_lines_in_order(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    lines = _lines(tmp_path_factory.mktemp("checkpoint") / "x", data)
    entries = [line for line in lines if line.fault is None or line.fault.code == "checkpoint-line-malformed"]
    assert all(before.end <= after.start for before, after in pairwise(entries))
    assert all(0 <= line.start < line.end <= len(data) for line in lines)


@each(
    ("data", "codes"),
    [
        (b"", []),
        (b"0\n", ["checkpoint-cut"]),
        (b"0\n0\n", []),
        (b"1\n0\n", ["checkpoint-version-unknown"]),
        (b"0\n1\n", ["checkpoint-count-mismatch"]),
        (b"0\n1\n0 0 0\n", ["checkpoint-line-malformed"]),
        (b"0\n1\n0 0\n\n", ["checkpoint-line-malformed", "checkpoint-count-mismatch"]),
        (b"0\n1\n2147483648 0\n", ["checkpoint-line-malformed"]),
        (b"0\n1\n 0 0\n", ["checkpoint-line-malformed"]),  # Java finds an empty first word
        (bytes(14), ["checkpoint-line-malformed"]),
    ],
)
def test_what_is_wrong_is_reported_apart(tmp_path: Path, data: bytes, codes: list[str]) -> None:
    assert _codes(tmp_path / "x", data) == codes


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


def test_the_entry_of_a_partition_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x"
    entries = [("topic", number, number * 2) for number in range(100_000)]
    path.write_bytes(checkpoint(entries=[*entries, ("topic.more", 5, 1), ("more", 3, 77)]))
    with Source(str(path)) as source:
        found = text_checkpoint.entry_of(source, "topic", 99_999)
        assert found is not None and found.values == ("topic", 99_999, 199_998)
        last = text_checkpoint.entry_of(source, "more", 3)
        assert last is not None and last.values == ("more", 3, 77)
        assert text_checkpoint.entry_of(source, "opic", 5) is None
        assert text_checkpoint.entry_of(source, "topic", 100_000) is None


def test_the_entry_of_a_partition_is_found_across_the_pieces_that_are_read(tmp_path: Path) -> None:
    entry = b"topic 7 1200\n"
    for before in range((1 << 20) - len(entry) - 1, (1 << 20) + 2):
        (tmp_path / "x").write_bytes(b"x" * (before - 1) + b"\n" + entry)
        with Source(str(tmp_path / "x")) as source:
            found = text_checkpoint.entry_of(source, "topic", 7)
        assert found is not None and found.values == ("topic", 7, 1200), before


def test_entries_as_brokers_write_them_are_the_same_as_if_read_word_by_word() -> None:
    chance, parts = random.Random(28), [b"0", b"9", b"-", b" ", b" ", b"t", b"\t", b"\0", b"\xc3\xa9", b"+", b"1234567", b"\xff"]
    entries = 0
    for number in range(20_000):
        data = b"".join(chance.choice(parts) for _ in range(chance.randrange(9)))
        if number % 2:
            data = b" ".join(b"%d" % (chance.getrandbits(chance.randrange(1, 70)) - 9) for _ in range(chance.randrange(1, 4)))
        for fields in (text_checkpoint.EPOCH_FIELDS, text_checkpoint.OFFSET_FIELDS):
            quick, slow = (read(1, 2, 3, data, fields) for read in (text_checkpoint._entry, text_checkpoint._any_entry))
            assert (quick.values, str(quick.fault)) == (slow.values, str(slow.fault))
            assert quick.is_number_wanted == slow.is_number_wanted
            entries += bool(quick.values)
    assert entries > 1000


def test_entries_that_come_together_are_those_that_come_one_by_one(tmp_path: Path) -> None:
    chance = random.Random(28)
    odd = (
        b"",
        b" ",
        b"x",
        b"5 6 7 8",
        b"1\t2",
        b"\xff 1 2",
        b"0 99999999999",
        b"1 2\r",
        b"t 1 2",
        b"1 2",
        b"-3 -4",
        b"t" * 9000,
        b"\0",
    )
    together = 0
    for number in range(12):
        topic = b"t " if number % 2 else b""
        lines = [chance.choice(odd) if not chance.randrange(40) else topic + b"%d %d" % (row, -row) for row in range(1, 9000)]
        data = b"0\n8999\n" + b"\n".join(lines) + (b"\n" if number % 3 else b"")
        path = tmp_path / "x"
        path.write_bytes(data)
        for fields in (EPOCH_FIELDS, OFFSET_FIELDS):
            found: list[tuple[int, tuple[int | str, ...], str]] = []
            with Source(str(path)) as source:
                one_by_one = [(line.number, line.values, str(line.fault)) for line in TextCheckpoint(source, fields).lines()]
                for line in TextCheckpoint(source, fields).stretches():
                    if isinstance(line, Line):
                        found.append((line.number, line.values, str(line.fault)))
                        continue
                    together += len(line)
                    rows = zip(*line.columns, strict=True)
                    found += [(at, values, "None") for at, values in enumerate(rows, line.first)]
            assert found == one_by_one
    assert together > 20_000
