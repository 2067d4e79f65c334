"""Steps past damage: whether a caller takes them one by one or together, they come to the same."""

import random

import pytest

from campaigns import mutants
from kdump.binary.source import Source
from kdump.reading.items import Damage, Patches
from kdump.reading.salvage import walk, walk_patches
from kdump.reading.tuning import DEFAULT, ReadTuning
from tests.builders.hostile import batches, batches_and_claims, messages_and_headers
from tests.builders.hostile_faults import LOGS
from tests.builders.records import batch, record
from tests.loops import each
from tests.reading.parts import parts_of
from tests.support import opened

pytestmark = pytest.mark.both_kernels

SMALL = ReadTuning(window_bytes=300, near_bytes=160, stretch_bytes=500)


def _walked(source: Source, tuning: ReadTuning = DEFAULT) -> list[tuple[object, ...]]:
    return [part for item in walk(source, tuning=tuning) for part in parts_of(item)]


def _assert_same(data: bytes, tuning: ReadTuning = DEFAULT) -> int:
    """Both ways to walk give the same parts. Returns how many batches came together with others."""
    with opened(data) as source:
        expected = _walked(source, tuning)
        items = list(walk_patches(source, 0, lambda: True, tuning=tuning))
        assert [part for item in items for part in parts_of(item)] == expected
    return sum(len(item.section.statuses) for item in items if isinstance(item, Patches))


@each("one", LOGS, ids=lambda one: one.name)
@each("tuning", [DEFAULT, SMALL], ids=["usual windows", "small windows"])
def test_steps_taken_together_change_nothing_in_hostile_files(one, tuning) -> None:  # type: ignore[no-untyped-def]
    _assert_same(one.build(40)[".log"], tuning)


def test_steps_taken_together_change_nothing_in_damaged_files() -> None:
    for number in range(30):
        _assert_same(mutants.mutant(28, number).data)


def test_steps_taken_together_change_nothing_among_other_damage() -> None:
    """Between garbage of any size: one batch, several, large ones, damaged ones."""
    chance = random.Random(28)
    for _ in range(8):
        pieces, offset = [], 0
        for _ in range(60):
            for _ in range(chance.choice((1, 1, 1, 2, 5))):
                records = [record(value=bytes(chance.choice((1, 1, 1, 30, 6000))))]
                epoch = chance.choice((1, 1, 1, 1, 0))
                data = bytearray(batch(records=records, base_offset=offset, partition_leader_epoch=epoch))
                if chance.random() < 0.1:
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                pieces.append(bytes(data))
                offset += chance.choice((1, 1, 1, 7, -3))
                offset = max(offset, 0)
            pieces.append(chance.choice((bytes, chance.randbytes))(chance.choice((0, 1, 16, 17, 18, 50, 600, 5000))))
        _assert_same(b"".join(pieces))


def test_steps_taken_together_change_nothing_where_too_much_claims_to_be_large() -> None:
    """Until the budget is used up, each claim is checked; then it is not, and the batches between come together."""
    tuning = ReadTuning(near_bytes=1 << 10, window_bytes=4 << 10, stretch_bytes=8 << 10, free_crc_bytes=1 << 16)
    assert _assert_same(batches_and_claims(300), tuning) > 100


def test_most_batches_between_garbage_come_together() -> None:
    assert _assert_same(batches(200, lambda chance: chance.randbytes(50))) > 150
    assert _assert_same(messages_and_headers(200)) > 150


def test_batches_come_together_only_where_the_caller_wants_it() -> None:
    with opened(batches(100, lambda chance: chance.randbytes(50))) as source:
        seen: list[Damage] = []
        for item in walk_patches(source, 0, lambda: len(seen) >= 50):
            assert len(seen) >= 50 or not isinstance(item, Patches)
            if isinstance(item, Damage):
                seen.append(item)
        assert len(seen) == 50
