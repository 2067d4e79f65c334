"""Tables at every width: no line is wider than the terminal, no number is cut, columns stand under their headings."""

import random
import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kdump.output.rows import listing
from kdump.output.rows.columns import width_of
from kdump.output.rows.report_lines import FindingLine, ForecastLine
from kdump.output.rows.table import TableFormatter
from kdump.output.text.writer import wrapped
from kdump.tables import Row, Table
from tests.loops import each

WIDTHS = st.integers(60, 200)
TEXTS = st.text(st.sampled_from('abc 0-9{}":注文東京한글ﾊé\u0301\u0300ß'), max_size=400)
OFFSETS = st.sampled_from([0, 7, 1_000_003, 2**40 + 11, 2**63 - 1])
SMALL = st.integers(-1, 2**31 - 1)
STATUSES = st.sampled_from(["intact", "salvaged", "damaged"])
NOT_SHOWN = "Not shown, because the terminal is too narrow: "


def _cells(text: str) -> int:
    """How many cells a terminal takes for a text, by Unicode's own tables."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _shown(rows: list[Row], width: int | None) -> list[str]:
    pieces: list[str] = []
    output = TableFormatter(pieces.append, width=width)
    output.start(type(rows[0]))
    names = [column.name for column in rows[0].schema]
    output.write(Table.of(type(rows[0]), [[getattr(row, name) for name in names] for row in rows]))
    output.end()
    return "".join(pieces).splitlines()


def _record(offset: int, key: str | None, value: str | None, status: str = "intact", position: int = 0, size: int = 5) -> Row:
    given: dict[str, Any] = dict.fromkeys(column.name for column in listing.ListedRecord.schema)
    given |= {"offset": offset, "key": key, "value": value, "status": status, "position": position, "file": "x.log"}
    given |= {"timestamp": 1_700_000_000_123, "key_size": size, "value_size": size, "sequence": size}
    given["headers"] = [{"key": "trace", "keyBase64": None, "value": "1", "valueBase64": None}]
    return listing.ListedRecord(**given)


def _batch(base: int, position: int, producer: int, status: str = "intact") -> Row:
    given: dict[str, Any] = dict.fromkeys(column.name for column in listing.ListedBatch.schema)
    given |= {"base_offset": base, "last_offset": base + 9, "count": 10, "base_sequence": 0, "last_sequence": 9}
    given |= {"producer_id": producer, "producer_epoch": 3, "partition_leader_epoch": 0, "position": position, "size": 116}
    given |= {"is_transactional": False, "is_control": False, "timestamp_type": "CreateTime", "timestamp": 1_700_000_000_123}
    given |= {"magic": 2, "compresscodec": "zstd", "crc": 7, "isvalid": True, "status": status, "file": "x.log"}
    return listing.ListedBatch(**given)


def _lists(make: Callable[..., Row], *values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.builds(make, *values), min_size=1, max_size=4)


RECORDS = _lists(_record, OFFSETS, TEXTS | st.none(), TEXTS | st.none(), STATUSES, OFFSETS, SMALL)
BATCHES = _lists(_batch, st.sampled_from([0, 41, 2**62]), OFFSETS, OFFSETS, STATUSES)
PRODUCERS = _lists(
    listing.ListedProducer,
    *(OFFSETS, SMALL, SMALL, OFFSETS, OFFSETS, SMALL, SMALL, OFFSETS, SMALL, OFFSETS),
    *(st.just("intact"), st.just("x.snapshot")),
)
FINDINGS = _lists(
    FindingLine,
    *(st.sampled_from(["error", "warning", "info"]), st.sampled_from(["crc-mismatch", "transaction-index-entry-missing"])),
    *(OFFSETS, OFFSETS, OFFSETS | st.none(), OFFSETS | st.none(), OFFSETS, st.just("by-repaired-length")),
    st.sampled_from(["ignore", "cut at byte 1,000,003: 2 later segments are deleted, 1,000 records lost"]),
    st.just("/data/orders-0/00000000000000000000.log"),
)
STARTS = _lists(
    ForecastLine,
    *(st.just("unclean"), st.sampled_from(["0", "9223372036854775807 (assumed)"]), st.just("keep")),
    *(OFFSETS, OFFSETS, st.booleans(), OFFSETS, OFFSETS, OFFSETS, OFFSETS),
    *(st.just("InconsistentTopicIdException") | st.none(), st.just("/data/orders-0")),
)
ROWS = RECORDS | BATCHES | PRODUCERS | FINDINGS | STARTS


@given(ROWS, WIDTHS)
def test_no_line_is_wider_than_the_terminal(rows: list[Row], width: int) -> None:
    assert max(map(_cells, _shown(rows, width))) <= width


def _left_out(lines: list[str]) -> set[str]:
    """The headings that are named as left out, though the sentence may go on in further lines."""
    found = re.search(NOT_SHOWN.replace(" ", r"\s") + r"([^.]*)\.", "\n".join(lines))
    return set(re.split(r",\s", found[1])) if found else set()


@given(ROWS, WIDTHS)
def test_every_number_and_word_is_there_whole_or_its_column_is_named_as_left_out(rows: list[Row], width: int) -> None:
    lines = _shown(rows, width)
    words = set(" ".join(lines).split())
    left_out = _left_out(lines)
    may_be_left_out = "crc timeType codec flags producer size headers sequence keySize valueSize position"
    assert left_out <= {*may_be_left_out.split()}
    for row in rows:
        for column in row.schema:
            value = getattr(row, column.name)
            is_free = column.name in ("key", "value", "broker_forecast", "file")
            if value is None or is_free or column.key in left_out or "timestamp" in column.name or isinstance(value, list):
                continue
            if isinstance(row, listing.ListedBatch):
                if column.name == "position":
                    assert f"{value:,}" in words
                elif column.name in ("base_offset", "last_offset", "count", "status"):
                    assert str(value) in words
                elif column.name == "producer_id" and "producer" not in left_out:
                    assert f"{value}/3" in words
                continue
            assert set(str(value).split()) <= words, (column.name, lines)


@given(RECORDS)
def test_in_a_pipe_nothing_is_shortened_or_left_out(rows: list[Row]) -> None:
    text = "\n".join(_shown(rows, None))
    for row in rows:
        for value in (row.key, row.value):  # type: ignore[attr-defined]
            assert value is None or value.strip() in text
    assert "…" not in text and NOT_SHOWN not in text


def test_wide_characters_take_two_cells_and_combining_ones_take_none() -> None:
    rows = [_record(0, "注文-東京", "a"), _record(1, "e\u0301te\u0301", "b"), _record(2, "plain", "c")]
    for width in (70, 100, None):
        lines = [line for line in _shown(rows, width) if line.endswith(("a", "b", "c"))]
        assert [_cells(line) for line in lines] == [_cells(lines[0])] * 3


def test_the_longest_text_is_shortened_first_and_a_short_one_stays_whole() -> None:
    line = _shown([_record(5, "key-0005", "v" * 300)], 120)[-1]
    assert " key-0005 " in line and line.endswith("vvv…") and len(line) == 120


def test_what_is_left_out_on_a_narrow_terminal_is_named() -> None:
    assert _shown([_batch(100, 4711, 1000)], 80) == [
        "x.log",
        "Not shown, because the terminal is too narrow: timeType, codec, flags, crc.",
        "position  offsets    count  time                     size  producer  status",
        "───────────────────────────────────────────────────────────────────────────",
        "   4,711  100 - 109     10  2023-11-14 22:13:20.123   116  1000/3    intact",
    ]


def test_rows_stand_upright_where_numbers_would_not_fit_beside_each_other() -> None:
    row = listing.ListedProducer(7, 0, -1, None, 1_700_000_000_123, 0, 2, 41, 2, 1_700_000_000_123, "intact", "x.snapshot")
    assert _shown([row], 80) == [
        "x.snapshot",
        "producerId:            7",
        "producerEpoch:         0",
        "coordinatorEpoch:      -1",
        "currentTxnFirstOffset: -",
        "lastTimestamp:         2023-11-14 22:13:20.123",
        "firstSequence:         0",
        "lastSequence:          2",
        "lastOffset:            41",
        "offsetDelta:           2",
        "timestamp:             2023-11-14 22:13:20.123",
        "status:                intact",
    ]
    assert _shown([row] * 2, 80)[11:14] == ["status:                intact", "", "producerId:            7"]


def test_a_long_path_goes_on_in_another_line() -> None:
    row = listing.ListedTransaction(0, 1, 2, 3, 4, "intact", f"/mnt/{'d' * 50}/orders-0/00000000000000000000.txnindex")
    lines = _shown([row], 60)
    assert lines[:2] == [f"/mnt/{'d' * 50}/", "   orders-0/00000000000000000000.txnindex"]


def test_a_huge_value_does_not_widen_a_thousand_rows() -> None:
    rows = [_record(offset, "k" * (1_000_000 if offset == 500 else 1), "v") for offset in range(1000)]
    assert sum(map(len, _shown(rows, None))) < 20_000_000


def _checkpoint(*, are_columns: bool, tables: list[list[Row]], width: int | None) -> str:
    """A table of the entries of a checkpoint, whose cells are made by the column or one by one."""
    pieces: list[str] = []
    output = TableFormatter(pieces.append, width=width, has_colors=True)
    output.start(listing.ListedCheckpointOffset)
    if not are_columns:
        output._layout.columns_of = None
    for rows in tables:
        output.write(Table.of_rows(listing.ListedCheckpointOffset, rows))
    output.end()
    return "".join(pieces)


@each("width", [None, 50, 120], share=6)
@each("seed", range(6))
def test_cells_that_are_made_by_the_column_are_those_made_one_by_one(seed: int, width: int | None) -> None:
    chance = random.Random(seed)
    topics = ["t", "topic-1", "注文", "a\nb", "", None, *(["x" * 5000, "y" * 70_000] if seed % 2 else [])]

    def row() -> Row:
        is_entry = chance.random() < 0.9
        topic, number = chance.choice(topics), chance.choice((0, 7, 2**63 - 1, None))
        file = chance.choice(("a", "a", "a", "b")) if seed > 3 else "a"
        status = "intact" if is_entry else "damaged"
        return listing.ListedCheckpointOffset(topic, 0 if is_entry else None, number, chance.randrange(9), status, file)

    most = 60 if seed % 2 else 400
    tables = [[row() for _ in range(chance.randrange(most))] for _ in range(8)]
    by_column, one_by_one = (_checkpoint(are_columns=are, tables=tables, width=width) for are in (True, False))
    assert by_column == one_by_one
    assert "\x1b[31m" in by_column  # what is damaged is red


def test_a_text_is_wrapped_between_words_by_the_cells_of_the_terminal() -> None:
    words = ["注文", "orders", "データ", "é", "7", "ディレクトリ"] * 10
    for width in (20, 33, 80):
        lines = wrapped(" ".join(words), width)
        assert " ".join(lines).split(" ") == words
        assert all(width_of(line) <= width for line in lines)
        assert all(width_of(f"{line} {after.split(' ')[0]}") > width for line, after in pairwise(lines)), "as full as they can be"
        assert wrapped(f"a   b {'x' * 99} c", width) == ["a   b", "x" * 99, "c"]
