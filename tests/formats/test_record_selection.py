"""Parts of the records of a chunk."""

import random
from pathlib import Path

import pytest

from kdump.formats.log import Log
from kdump.formats.record import RecordChunk, read
from kdump.formats.record_selection import Rest, selected
from kdump.tables import Row, Table
from tests import kernels
from tests.builders.hostile_contents import control_batches
from tests.builders.records import batch, record
from tests.loops import each
from tests.support import opened


def _chunk(counts: list[int], continues: bool) -> RecordChunk:
    """Records with ascending offsets, so many of each batch."""
    data, offset = b"", 0
    for count in counts:
        data += batch(records=[record(value=b"v")] * count, base_offset=offset, last_offset_delta=max(count - 1, 0))
        offset += max(count, 1)
    with opened(data) as source:
        (chunk,) = Log(source).chunks()
        (part,) = read(source, chunk)
    return RecordChunk(part.batches, part.counts, part.records, continues, faults={row: {} for row in range(sum(counts))})


def _held(part: RecordChunk) -> tuple[list[int], list[int], list[int]]:
    """The offsets of the records, and those of the batches that start here and of the batches that own the records."""
    bases = part.batches["base_offset"]
    owners = [base for base, count in zip(bases, part.counts, strict=True) for _ in range(count)]
    assert len(owners) == len(part.records) == len(part.faults or {})
    return list(part.records["offset"]), list(bases[part.continues :]), owners


@each("seed", range(40))
def test_parts_that_are_taken_one_after_the_other_are_the_whole(seed: int) -> None:
    chance = random.Random(seed)
    counts = [chance.choice((0, 0, 1, 1, 2, 5)) for _ in range(chance.randrange(1, 12))]
    chunk = _chunk(counts, continues=chance.random() < 0.5)
    rest, parts = Rest(chunk), []
    while not rest.is_empty:
        piece = rest.first(chance.randrange(1, 7))
        records, batches, owners = _held(piece)
        shown = chance.randrange(1, len(records) + 1) if records and chance.random() < 0.3 else None
        if shown is None:
            rest.drop(piece)
            parts.append((records, batches, owners))
            continue
        position = rest.drop_first(shown)
        bases = dict(zip(chunk.batches["base_offset"], chunk.batches["position"], strict=True))
        assert position == bases[owners[shown - 1]]
        parts.append((records[:shown], [base for base in batches if base <= owners[shown - 1]], owners[:shown]))
    whole = _held(chunk)
    assert tuple([one for part in parts for one in part[kind]] for kind in range(3)) == whole


def test_selected_records_keep_their_batches_and_their_faults() -> None:
    part, rows = selected(_chunk([2, 0, 3, 1], continues=False), [1, 4], shown_position=-1)
    assert (rows, _held(part), sorted(part.faults)) == ([0, 2], ([1, 5], [0, 3], [0, 3]), [0, 1])


def test_records_that_cannot_be_shown_cost_the_same_however_many_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 0
    cut = Table.slice

    def counted(table: Table[Row], start: int, end: int) -> Table[Row]:
        nonlocal rows
        rows += end - start
        return cut(table, start, end)

    monkeypatch.setattr(Table, "slice", counted)
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(control_batches(1000))
    assert kernels.listed(["log", "--deep", str(path)])[0] == 1
    assert rows < 10 * 1000  # it was 120,000, and four times that for twice as many
