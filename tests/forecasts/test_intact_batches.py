"""The search for intact batches among damage: it finds the same whatever is kept of the walk that looked for damage."""

from pathlib import Path
from unittest import mock

import pytest

from kdump.forecasts import damage, losses
from kdump.forecasts.damage import WalkedLogs
from kdump.forecasts.directory import Directory, File
from kdump.reading.walked_log import MOST_KEPT
from tests.builders.hostile import HOSTILE
from tests.builders.records import batch, record
from tests.loops import each

pytestmark = pytest.mark.both_kernels


GARBAGE = next(one for one in HOSTILE if one.name == "random bytes between batches").build(200)[".log"]
SOUND = b"".join(batch(records=[record(value=b"v")], base_offset=offset) for offset in range(200))


@each("data, start, first", [(GARBAGE, 0, 0), (SOUND, 0, 0), (SOUND, len(SOUND) // 2, 100)])
def test_all_between_garbage_are_found(tmp_path: Path, data: bytes, start: int, first: int) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data)
    directory = Directory(str(tmp_path), {path.name: File(str(path), len(data))})
    for most, is_wanted in ((MOST_KEPT, False), (MOST_KEPT, True), (0, True)):
        cut_short: list[File] = []
        with mock.patch.object(damage, "MOST_KEPT", most):
            intact = losses.IntactBatches(WalkedLogs(directory, is_wanted=is_wanted))
            for _ in range(2):  # what was found is kept
                found = list(intact.within(directory, File(str(path), len(data) - start, start), cut_short))
                assert [one[:3] for one in found] == [(offset, offset, 1) for offset in range(first, 200)]
        assert cut_short == []
