"""Which batches are beyond doubt: by their offsets and leader epochs, and those of their neighbours."""

from functools import partial
from itertools import takewhile
from types import SimpleNamespace
from typing import Any

from kdump.reading.trust import SEGMENT_REACH, Order, is_flipped_epoch
from tests.builders.records import batch, record
from tests.loops import each
from tests.support import opened

DOUBT = "doubt"
PAGES = [(one, two, "iss" if two < 2049 else "isi") for one in (1, 4096) for two in (2047, 2048, 2049)]  # a page holds 4096 bytes
Step = Any  # DOUBT, an offset, or first and last offset, leader epoch and size


def _judged(steps: list[Step], base: int | None, next_base: int | None) -> str:
    """The first letter of the status of each batch: intact or salvaged."""
    found = ""
    extents = [step if step == DOUBT else (step, step, 0, 10) if isinstance(step, int) else step for step in steps]
    with opened(bytes(100)) as source:
        order = Order(source, base, next_base)
        for row, step in enumerate(extents):
            if step == DOUBT:
                order.doubt(0)
                continue
            extent, size = tuple(step[:3]), step[3]
            after: Any = partial(
                list, [tuple(other[:3]) for other in takewhile(lambda other: other != DOUBT, extents[row + 1 : row + 9])]
            )
            found += (order.judge_found(extent, 0, size, after) if order.is_in_doubt else order.judge(extent, size, after))[0]
    return found


def _of(epoch: int, *offsets: int, size: int = 10) -> list[Step]:
    return [(offset, offset, epoch, size) for offset in offsets]


@each(
    ("base", "next_base", "steps", "statuses"),
    [
        (0, None, [0, (1, 3, 0, 10), 4, 9], "iiii"),
        *((10, None, [9, 10], "si"), (0, 10, [10, 11, 12], "sii")),  # a log under the name of an earlier one
        *((0, None, [0, 9, 1], "isi"), (0, None, [0, 3, 2, 3], "isii"), (0, None, [0, 1, 9], "iii")),
        *((0, None, [0, 1, 2, 1, 3], "iiisi"), (0, None, [5, 0, 1, 2], "siii"), (0, None, [0, 1, 2, 2, 3], "iiisi")),
        (0, None, [0, 1, 5, 3, 6], "iisii"),  # either may be wrong; only the third has room where it should be
        (0, 10, [0, (5, 10, 0, 10), 6, 10, 8], "isisi"),
        (0, None, [0, (3, 2, 0, 10), 3], "isi"),  # the last offset is before the first
        (0, 1 << 40, [0, SEGMENT_REACH - 1, SEGMENT_REACH], "iis"),
        (None, None, [0, SEGMENT_REACH], "ii"),
        (0, None, [0, 1, 2, 3, 1, 2, 3], "iiiisii"),  # the first of a run that goes back
        (0, None, [50, 51, 5, 6, 7], "ssiii"),  # two against three
        (0, None, [*range(50, 60), 5, 6, 7], "iiiiiiiiiisii"),  # offsets go back and ascend: the first is out of line
        *(
            (0, None, [50, 51, 5, 6, 52], "iissi"),
            (0, None, [50, 51, 5, 6, 6], "iisss"),
            (0, None, [50, 51, -5, -4, -3], "iisss"),
        ),
        *((0, None, [*_of(5, 50, 51), *_of(3, 5), *_of(2, 6, 7)], "iissi"), (0, None, [0, 1, 60, 70, 4, 5], "iissii")),
        (0, None, [0, 1, 60, 5, 0, 5, 40, 7], "iisssisi"),  # of two that may follow 1, that with as many between them
        (0, None, [0, 9, 1, 2], "isii"),  # what is too high is out of line, not what follows
        (0, 20, [0, 9, 25, 26, 10], "iissi"),  # what is too high is wrong itself, and vouches for none
        (0, 20, [0, 9, 25, 5, 6], "issii"),
        (0, None, [0, 1 << 40, 1 << 41, 1, 4, 5], "isssii"),  # of two that may follow 0, that with as many before it
        (0, None, [0, 1, 1 << 40, 1 << 41], "iiss"),  # what is too high is no other order
        (0, None, [*_of(5, 0), *_of(4, 1)], "ss"),
        (0, None, [*_of(5, 0), *_of(4, 1), *_of(5, 2)], "isi"),  # leader epochs do not go back
        # after damage
        (0, None, [0, DOUBT, 5, 6, 7], "isii"),
        (0, 6, [0, DOUBT, 5, 6, 5], "isss"),
        (0, None, [0, DOUBT, *_of(3, 5), *_of(2, 6), *_of(2, 7)], "issi"),
        (0, None, [0, DOUBT, 3, 4 ^ 1 << 20, 5, 6, 7], "issiii"),  # those after a wrong offset continue what was found
        (0, None, [0, DOUBT, 3, 4 ^ 1 << 20, 5], "issi"),
        (0, None, [0, DOUBT, 5, (7, 6, 0, 10), 7, 8], "isssi"),  # each confirms the one before it, if that is in order
        (0, None, [50, 51, 5, DOUBT, 60, 61, 7], "iissis"),  # what was out of line before it confirms nothing after it
        # a run is believed that is larger than all it contradicts: what comes before it by offsets and epochs stays
        (0, None, [*_of(5, 10, size=9000), DOUBT, *_of(5, 20, 21), DOUBT, *_of(5, 15, 16, size=5000), *_of(5, 17)], "isisii"),
        (0, None, [*_of(5, 10, size=20000), DOUBT, *_of(5, 20, 21), DOUBT, *_of(4, 15, 16, size=5000), *_of(5, 22)], "isisss"),
        (0, None, [*_of(5, 10, size=9000), DOUBT, *_of(5, 20, 21), DOUBT, *_of(4, 15, 16, size=9000), *_of(4, 17)], "isisii"),
        *((0, None, [*_of(0, 100, size=one), DOUBT, *_of(0, 5, 6, size=two)], found) for one, two, found in PAGES),
        (0, None, [*_of(0, 50, size=12000), DOUBT, *_of(3, 5, size=5000), *_of(2, 6, 7, size=5000)], "isss"),  # two runs
    ],
)
def test_what_is_out_of_line_is_not_intact(base: int | None, next_base: int | None, steps: list[Step], statuses: str) -> None:
    assert _judged(steps, base, next_base) == statuses


def test_an_epoch_is_wrong_if_one_bit_makes_it_much_higher() -> None:
    found = [is_flipped_epoch(epoch, 3) for epoch in (2, 3, 7, 11, 19, 20, 35, 1 << 20 | 3, 1 << 20)]
    assert found == [False, False, False, False, True, False, True, True, False]  # 16 elections may not be missed


SUMMARY: dict[str, Any] = {"first_offset": 5, "last_offset": 8, "first_leader_epoch": 3, "last_leader_epoch": 4}
SUMMARY |= {"is_legacy": False, "leader_epochs_back": 0, "gaps": 0, "end": 0, "positions": [0]}


@each(
    ("before", "of_summary", "takes"),
    [
        *(([], {}, True), (_of(3, 4), {}, True), (_of(3, 5), {}, False), ([DOUBT], {}, False)),
        *((_of(4, 4), {}, False), (_of(4, 4), {"is_legacy": True}, True)),
        *(([], {name: value}, False) for name, value in (("leader_epochs_back", 1), ("last_leader_epoch", 5))),
        *(([], {name: value, "is_legacy": True}, True) for name, value in (("leader_epochs_back", 1), ("last_leader_epoch", 5))),
        *(([], {"last_offset": 19, "end": 500}, True), ([], {"last_offset": 20, "end": 500}, False)),
        *(([], {"last_offset": 9}, True), ([], {"last_offset": 10}, False)),  # a batch with offset 10 and leader epoch 4 follows
        ([*_of(3, 4), *_of(2, 4)], {}, False),  # the last was out of line
        ([(4, 9, 3, 10)], {"first_offset": 10, "last_offset": 12, "end": 500}, True),
    ],
)
def test_a_summary_stands_for_batches_that_are_all_in_line(before: list[Step], of_summary: dict[str, Any], takes: bool) -> None:
    following = batch(base_offset=10, partition_leader_epoch=4, records=[record(value=b"v")])
    with opened(following) as source:
        order = Order(source, 0, 20)
        for step in before:
            if step == DOUBT:
                order.doubt(0)
            else:
                order.judge(tuple(step[:3]), step[3], list)
        summary: Any = SimpleNamespace(**SUMMARY | of_summary)
        assert order.takes(summary) == takes
        assert not takes or not order.fits((summary.last_offset, summary.last_offset, 9))
