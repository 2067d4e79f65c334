"""Small logs with several damages of any kind: the status of each batch and the offsets of each damage, by what was written."""

import random
import struct
from itertools import pairwise

import pytest

from kdump.reading.damaged_offsets import FOREVER, DamagedOffsets
from kdump.reading.items import DAMAGED, Section
from kdump.reading.salvage import walk
from tests import kernels
from tests.builders.records import batch, message, message_set, record
from tests.loops import each
from tests.support import opened

pytestmark = pytest.mark.both_kernels

WRONG_CRC, GARBAGE, ZEROS, TORN, LENGTH, LENGTH_AND_CRC, OFFSET, EPOCH, OFFSET_AND_CRC, OVER_OTHERS, INSERTED = "bgzclxoeqyn"
WHOLE, HIDDEN = "wh"


class Damaged:
    """A log: a letter for what each batch became, and of each where it starts, where its header ends it, and its offsets."""

    def __init__(self, seed: int, magic: int) -> None:
        chance = random.Random(seed)
        kinds = "bgzclxoeqqyyn" if magic == 2 else "bgzoqqyy"
        self.pieces = WHOLE * chance.choice((0, 0, 12))
        for _ in range(chance.choice((2, 3))):
            kind = chance.choice(kinds)
            self.pieces += WHOLE * chance.randint(2, 5) + kind
            if kind in "oelxy":
                self.pieces += "wqw" if kind == LENGTH and chance.random() < 0.5 else 2 * WHOLE  # which say what is wrong
            elif chance.random() < 0.4:
                self.pieces += chance.choice(("b", "q", "wb") if kind == OFFSET_AND_CRC else ("b", "g", "q", "wb"))
        self.pieces += WHOLE * chance.randint(OFFSET_AND_CRC in self.pieces[-2:], 4)
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.offsets: list[tuple[int, int]] = []  # the first, and the one after the last
        self.claims: list[int] = []  # the first by the header
        removed = chance.choice(((0, 0, 0, 0, 1, 2, 70), (*[0] * 9, 1)))  # by compaction, before a batch
        whole: list[bytes] = []
        for row, kind in enumerate(self.pieces):
            first = self.offsets[-1][1] if row else 0
            first += 0 if OFFSET_AND_CRC in self.pieces[max(row - 2, 0) : row + 1] else chance.choice(removed)
            whole.append(_written(first, chance.randint(1, 4) if magic == 2 else 1, magic))
            self.offsets.append((first, first + whole[-1].count(b"key")))
            claimed = max(first + (chance.choice((-4, -1, 1, 2, 5)) if kind == OFFSET_AND_CRC else 0), 0)
            self.claims.append(claimed ^ (1 << chance.randint(12, 40) if kind == OFFSET else 0))
        self.data = b""
        for row, kind in enumerate(self.pieces):
            self.starts.append(len(self.data))
            size = len(whole[row])
            if kind == LENGTH_AND_CRC:
                size = chance.choice((size - 1, size + chance.randint(1, 300), 11, 12, 25, 26, 60, (1 << 31) + 11))
            if kind == OVER_OTHERS:
                end = row + chance.randint(2, 3)
                size = sum(map(len, whole[row:end]))
                own_end, (first, _), (_, last), after = (
                    self.offsets[row][1],
                    *(self.offsets[at] for at in (row + 1, end - 1)),
                    self.offsets[end : end + 1],
                )
                if own_end < first and not (after and last == after[0][0]):  # they may be its payload
                    self.pieces = self.pieces[:row] + WRONG_CRC + HIDDEN * (end - row - 1) + self.pieces[end:]
            self.ends.append(len(self.data) + size % (1 << 31))  # nobody believes that one is so large
            self.data += _hurt(whole[row], kind, self.claims[row], size, chance)

    def statuses(self) -> str:
        """The first letter of each status, a dash for what is no batch: a found batch needs another one that continues it."""
        found, in_doubt, is_found, nested_end, last = "", False, False, 0, 0
        for row, kind in enumerate(self.pieces):
            if kind == WHOLE:
                is_confirmed = not in_doubt or is_found and self.starts[row] >= nested_end
                found += "i" if is_confirmed and (in_doubt or not self.is_contradicted(row, last)) else "s"
                in_doubt, is_found = not is_confirmed, True
                last = self.offsets[row][1] if found[-1] == "i" else last
            elif kind == HIDDEN:
                found += "-"
            elif kind in "oel":
                found += "s"
                is_found &= kind == LENGTH
                last = self.offsets[row][1] if kind == LENGTH and not in_doubt else last
            elif kind in (WRONG_CRC, OFFSET_AND_CRC) and not in_doubt and self.pieces[row + 1 : row + 2] not in (GARBAGE, ZEROS):
                found += "d"
            else:
                found += "-"
                in_doubt, is_found = True, False
                nested_end = max(nested_end, self.ends[row] if kind in (TORN, LENGTH_AND_CRC) else 0)
        return found

    def is_contradicted(self, row: int, last: int) -> bool:
        """Whether a damaged batch beside a whole one claims offsets that only one of them can have, from `last` on."""
        first, end = self.offsets[row]
        is_after = row > 0 and self.pieces[row - 1] in "bq" and first <= self.claims[row - 1]
        return is_after or self.pieces[row + 1 : row + 2] in ("b", "q") and first > last <= self.claims[row + 1] < end

    def around(self, row: int) -> tuple[int, int]:
        """The offset after the batch in line before a piece, and that of the next one."""
        in_line = [at for at, kind in enumerate(self.pieces) if kind in (WHOLE, EPOCH)]
        before = max((self.offsets[at][1] for at in in_line if at < row), default=0)
        return before, min((self.offsets[at][0] for at in in_line if at > row), default=FOREVER)

    def doubts_last(self) -> bool:
        """Whether a bit of its offset makes the only gap before the last batch in line, and another offset is wrong."""
        in_line = [(-1, (0, 0)), *((row, self.offsets[row]) for row, kind in enumerate(self.pieces) if kind in (WHOLE, EPOCH))]
        beside = [(one[1], other[0]) for (at, one), (row, other) in pairwise(in_line) if row == at + 1 and one[1] < other[0]]
        is_last = beside[-1:] == [(in_line[-2][1][1], in_line[-1][1][0])]
        return OFFSET in self.pieces and len(beside) == 1 and is_last and (beside[0][0] ^ beside[0][1]).bit_count() == 1


def _written(offset: int, count: int, magic: int) -> bytes:
    if magic < 2:
        return message_set(messages=[message(key=b"key", value=b"v" * 40, magic=magic)], base_offset=offset)
    records = [record(key=b"key", value=b"v" * 30, offset_delta=row) for row in range(count)]
    return batch(records=records, base_offset=offset, partition_leader_epoch=offset // 10)


def _hurt(data: bytes, kind: str, offset: int, size: int, chance: random.Random) -> bytes:
    if kind in (WRONG_CRC, LENGTH_AND_CRC, OFFSET_AND_CRC, OVER_OTHERS):
        at = len(data) - chance.randint(1, 30)  # in its value
        data = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if kind == LENGTH:
        size = chance.choice((11, 12, 25, 26, 60, len(data) + 1, 2 * len(data), 1 << 20, (1 << 31) + 11))
    epoch = 1 << 20 if kind == EPOCH else int.from_bytes(data[12:16], "big")
    if kind == INSERTED:
        data = data[:70] + chance.randbytes(chance.randint(1, 40)) + data[70:]
    data = struct.pack(">qiI", offset, size - 12, epoch) + data[16:]
    torn = data[: chance.randint(61, len(data) - 2)]
    return {GARBAGE: b"\xff" * len(data), ZEROS: bytes(len(data) + 600), TORN: torn}.get(kind, data)


@each("seed", range(150), python_share=3, quick=20)
@each("magic", [2, 1, 0])
def test_what_is_left_has_its_status_and_what_is_lost_its_offsets(seed: int, magic: int) -> None:
    log = Damaged(seed, magic)
    statuses, offsets = dict.fromkeys(log.starts, "-"), DamagedOffsets(0)
    with opened(log.data) as source:
        for item in walk(source, base_offset=0, tuning=kernels.in_windows((1 << 20, 500, 300)[seed % 3])):
            offsets.take(item)
            if isinstance(item, Section):
                statuses |= dict.fromkeys(item.chunk.batches["position"], item.status[0])
                assert len(item.sound) == len(item.chunk) * (item.status != DAMAGED)
    expected = log.statuses()
    assert "".join(statuses.values()) == expected, log.pieces
    for one in offsets.ranges():
        row = max(row for row, start in enumerate(log.starts) if start <= one.start)
        before, after = log.around(row)
        claimed = log.claims[row] if before <= log.claims[row] < after else before
        assert one.offset == claimed or one.offset == before and expected[row] == "-", log.pieces
        is_header = log.pieces[row] in "bclxqyn" and one.start == log.starts[row]
        assert one.next_offset == after and (is_header or not one.is_batch), log.pieces
    strays = [one for one in offsets.strays if not one.is_last]
    assert [one.start for one in strays] == [log.starts[row] for row, kind in enumerate(log.pieces) if kind == OFFSET]
    assert len(offsets.strays) == len(strays) + log.doubts_last(), log.pieces
    for stray in strays:
        before, after = log.around(log.starts.index(stray.start))
        assert (stray.offset, stray.lowest, stray.next_offset, stray.is_misplaced) == (before, before, after, True), log.pieces
    assert offsets.log_end == log.around(len(log.pieces))[0]
