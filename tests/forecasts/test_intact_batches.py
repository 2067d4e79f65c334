"""The search for intact batches among damage: it finds the same whatever is kept of the walk that looked for damage."""

from pathlib import Path
from unittest import mock

import pytest

from kdump.forecasts import damage, losses
from kdump.forecasts.damage import WalkedLogs
from kdump.forecasts.directory import Directory, File
from kdump.reading.walked_log import MOST_KEPT
from tests.builders.hostile import HOSTILE
from tests.loops import each

pytestmark = pytest.mark.both_kernels


@each("start", [0, 300])
def test_all_between_garbage_are_found(tmp_path: Path, start: int) -> None:
    data = next(one for one in HOSTILE if one.name == "random bytes between batches").build(200)[".log"]
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data)
    directory = Directory(str(tmp_path), {path.name: File(str(path), len(data))})
    for most, is_wanted in ((MOST_KEPT, False), (MOST_KEPT, True), (0, True)):
        cut_short: list[File] = []
        with mock.patch.object(damage, "MOST_KEPT", most):
            intact = losses.IntactBatches(WalkedLogs(directory, is_wanted=is_wanted))
            for _ in range(2):  # what was found is kept
                found = list(intact.within(directory, File(str(path), len(data) - start, start), cut_short))
                first = found[0][0]
                assert (first > 0) == (start > 0)
                assert [batch[:3] for batch in found] == [(offset, offset, 1) for offset in range(first, 200)]
        assert cut_short == []
