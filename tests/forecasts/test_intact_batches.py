"""The search for intact batches among damage: the C kernel finds what the reference finds, and gives up where it does."""

import random
from pathlib import Path
from unittest import mock

import pytest

from campaigns import mutants
from kdump.binary import kernel
from kdump.forecasts import damage, losses
from kdump.forecasts.damage import WalkedLogs
from kdump.forecasts.directory import Directory, File
from kdump.reading import steps
from kdump.reading.tuning import DEFAULT
from kdump.reading.walked_log import MOST_KEPT
from tests.builders.hostile import HOSTILE
from tests.builders.hostile_faults import LOGS
from tests.loops import each

pytestmark = pytest.mark.skipif(kernel.native is None, reason="compares the C kernel with the reference")

LOG = "0" * 20 + ".log"


def _found(path: Path, start: int = 0) -> tuple[list[tuple[int, int, int, int, int]], bool]:
    cut_short: list[File] = []
    file = File(str(path), path.stat().st_size - start, start)
    directory = Directory(str(path.parent), {LOG: File(str(path), path.stat().st_size)})
    batches = list(losses.IntactBatches(WalkedLogs(directory, is_wanted=False)).within(directory, file, cut_short))
    for most in (MOST_KEPT, 0) if not start else ():  # a walk for the damage finds the same, whatever is kept of it
        again: list[File] = []
        with mock.patch.object(damage, "MOST_KEPT", most):
            assert list(losses.IntactBatches(WalkedLogs(directory)).within(directory, file, again)) == batches
        assert again == cut_short
    return batches, bool(cut_short)


def _assert_same(data: bytes, folder: Path, start: int = 0) -> tuple[list[tuple[int, int, int, int, int]], bool]:
    path = folder / LOG
    path.write_bytes(data)
    found = _found(path, start)
    with mock.patch.object(kernel, "native", None):
        assert _found(path, start) == found
    return found


def test_both_kernels_find_the_same_in_damaged_files(tmp_path: Path) -> None:
    chance = random.Random(5)
    counts = []
    for number in range(40):
        data = mutants.mutant(28, number).data
        batches, _ = _assert_same(data, tmp_path, chance.choice((0, 0, chance.randrange(len(data) + 1))))
        counts.append(len(batches))
    assert sum(counts) > 50


@each("one", LOGS, ids=lambda one: one.name)
def test_both_kernels_give_up_at_the_same_place(one, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    free = mock.patch.multiple(DEFAULT, free_crc_bytes=0, free_tries=0)
    with free, mock.patch.object(steps, "_KEPT_CRC_BYTES", 0):
        _assert_same(one.build(60)[".log"] + bytes(range(256)) * 300 + one.build(20)[".log"], tmp_path)


def test_all_between_garbage_are_found(tmp_path: Path) -> None:
    data = next(one for one in HOSTILE if one.name == "random bytes between batches").build(200)[".log"]
    batches, is_cut_short = _assert_same(data, tmp_path)
    assert [batch[:3] for batch in batches] == [(offset, offset, 1) for offset in range(200)] and not is_cut_short
