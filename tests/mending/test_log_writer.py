"""Logs of a new partition are written from whole batches, and split where a start would split them."""

from pathlib import Path

import pytest

from kdump.errors import CorruptData
from kdump.mending.new import log_writer
from kdump.mending.new.log_writer import LogWriter
from kdump.mending.new.new_directory import NewDirectory
from kdump.mending.new.new_partition import NewPartition
from tests.builders.records import batch, record


def _batch(offset: int, count: int = 1) -> bytes:
    return batch(base_offset=offset, records=[record(value=b"v", offset_delta=delta) for delta in range(count)])


def test_an_offset_too_far_above_the_base_starts_a_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = (1 << 31) - 1
    with NewDirectory(str(tmp_path / "out"), []) as directory:
        with LogWriter(directory) as logs:
            for offset in (4, 4 + far, 5 + far):
                logs.add(_batch(offset), offset, offset)
            monkeypatch.setattr(log_writer, "LARGEST_SIZE", 2 * len(_batch(0)))
            for offset in (6, 7, 8, 9):
                logs.add(_batch(offset + far), offset + far, offset + far)
        assert logs.bases == [4, 5 + far, 7 + far, 9 + far]


def test_what_a_start_would_not_keep_is_refused_where_it_is(tmp_path: Path) -> None:
    with NewDirectory(str(tmp_path / "out"), []) as directory:
        with LogWriter(directory) as logs:
            logs.start(0)
            logs.add(_batch(0) + _batch(0), 0, 0)
        with pytest.raises(CorruptData) as caught:
            NewPartition(directory, "", logs.bases, origin="/in").complete()
    assert (caught.value.path, caught.value.code) == (f"/in/{0:020}.log", "offset-regression")


def test_a_log_end_that_was_not_promised_is_refused(tmp_path: Path) -> None:
    with NewDirectory(str(tmp_path / "out"), []) as directory:
        with LogWriter(directory) as logs:
            logs.start(0)
            logs.add(_batch(0), 0, 0)
        made = NewPartition(directory, "", logs.bases, origin="/in")
        made.complete()
        directory.sync()
        made.verify(log_end=1)
        with pytest.raises(CorruptData, match="ends at offset 1, not 2"):
            made.verify(log_end=2)
