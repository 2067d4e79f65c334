"""Notes on walks: a check that has them reports what it reports without, and they hold only while the log is as it was."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from golden_outputs.runs import CASES
from kdump.binary.tolerant_source import TolerantSource
from kdump.checks.jobs import jobs
from kdump.checks.settings import LEVELS, Settings
from kdump.reading import salvage
from kdump.reading.tuning import DEFAULT, ReadTuning
from kdump.reading.walk_notes import Note, NotesFile, NoteTaker, WalkNotes
from kdump.tables import Row
from kdump.verdicts.check import run
from tests.builders.files import write_partition
from tests.builders.records import batch, message, message_set, record

VALUE = os.urandom(2000)
NOW = 1_800_000_000_000


def _batches(first: int, count: int = 8) -> list[bytes]:
    return [batch(records=[record(value=VALUE)], base_offset=first + number) for number in range(count)]


def _note(path: Path, folder: Path, tuning: ReadTuning = DEFAULT) -> Note | None:
    with TolerantSource(str(path)) as source, NotesFile(str(folder / "notes")) as file:
        taker = NoteTaker(source, file)
        for item in salvage.walk(source, tuning=tuning):
            taker.take(None if isinstance(item, salvage.Damage) else item.summary)
        return taker.note()


def _rows(path: Path, notes: WalkNotes | None, level: str = "full") -> list[Row]:
    rows: list[Row] = []
    settings = Settings(now=NOW, level=level, walk_notes=notes)
    for job in jobs(str(path)):
        run(job, settings, rows.append)
    return rows


def _sections(path: Path, note: Note | None, base: int | None = None, next_base: int | None = None) -> Any:
    assert note is not None
    with TolerantSource(str(path)) as source:
        found = WalkNotes({str(path): note}).sections(source, base, next_base)
        return None if found is None else list(found)


@pytest.mark.both_kernels
def test_checks_with_notes_report_what_they_report_without(tmp_path: Path) -> None:
    noted = 0
    for case in sorted(CASES.iterdir()):
        logs = [log for log in sorted(case.rglob("*.log")) if log.is_file()]
        without = _rows(case, None)
        assert _rows(case, _notes(logs, tmp_path)) == without, case.name
        small = _notes(logs, tmp_path, ReadTuning(stretch_bytes=1 << 10))
        assert list(map(_place, _rows(case, small))) == list(map(_place, without)), case.name
        noted += sum(str(log) in small for log in logs)
    assert noted > 50


def _notes(logs: Sequence[Path], folder: Path, tuning: ReadTuning = DEFAULT) -> WalkNotes:
    return WalkNotes({str(log): note for log in logs if (note := _note(log, folder, tuning)) is not None})


def _place(row: Row) -> list[object]:
    """What a row is about. Of a repeated sequence, the message names any of the batches that have it."""
    return [getattr(row, name, None) for name in ("code", "severity", "path", "start", "end", "first_offset", "last_offset")]


@pytest.mark.parametrize("level", LEVELS)
def test_a_check_with_notes_reads_a_sound_log_only_where_records_are_examined(level: str, tmp_path: Path) -> None:
    write_partition(tmp_path / "data", topic="t", partition=0, segments={0: _batches(0), 8: _batches(8)})
    logs = sorted(tmp_path.rglob("*.log"))
    notes = _notes(logs, tmp_path)
    with mock.patch("kdump.checks.segment.salvage.walk_patches", wraps=salvage.walk_patches) as walk:
        rows = _rows(tmp_path / "data", notes, level)
        walks = walk.call_count
    assert rows == _rows(tmp_path / "data", None, level)
    assert len(logs) == 2 == sum(str(log) in notes for log in logs)
    assert walks == (2 if level == "deep" else 0) + 1  # the last batch, where a start finds the end of the data


def test_notes_do_not_hold_once_the_log_was_written_to(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(_batches(0)))
    note = _note(log, tmp_path)
    assert len(_sections(log, note)) == 1
    with log.open("ab") as file:
        file.write(_batches(8)[0])
    assert _sections(log, note) is None
    log.write_bytes(b"".join(_batches(0)))  # as it was, but for its times
    assert _sections(log, note) is None


def test_notes_do_not_hold_between_base_offsets_that_the_log_does_not_keep(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000010.log"
    log.write_bytes(b"".join(_batches(10)))
    note = _note(log, tmp_path)
    assert len(_sections(log, note, 10, 18)) == 1
    assert _sections(log, note, 11, 18) is None
    assert _sections(log, note, 10, 17) is None
    assert _sections(log, note, 10 - (1 << 31)) is None


def test_a_log_that_is_not_sound_to_its_end_gets_no_note(tmp_path: Path) -> None:
    batches = _batches(0)
    for number, data in enumerate(
        (
            [*batches[:3], batches[3][:-1] + bytes([batches[3][-1] ^ 1]), *batches[4:]],
            [*batches, batches[0][:40]],
            [*batches, bytes(100)],
            [*batches, batches[0]],  # an offset goes back
        )
    ):
        log = tmp_path / f"{number}.log"
        log.write_bytes(b"".join(data))
        assert _note(log, tmp_path) is None, number


def test_a_log_that_changes_while_it_is_walked_gets_no_note(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(_batches(0)))
    with TolerantSource(str(log)) as source, NotesFile(str(tmp_path / "notes")) as file:
        taker = NoteTaker(source, file)
        for item in salvage.walk(source):
            assert not isinstance(item, salvage.Damage)
            taker.take(item.summary)
        os.utime(log, ns=(1, 1))
        assert taker.note() is None


def test_old_messages_are_noted_as_well(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(message_set(messages=[message(value=VALUE)] * 20))
    (section,) = _sections(log, _note(log, tmp_path))
    assert section.summary.is_legacy
    assert section.summary.count == 20


def test_a_log_of_tiny_batches_gets_no_note_that_would_be_nearly_as_large(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(batch(records=[record(value=b"v")], base_offset=offset) for offset in range(4000)))
    assert _note(log, tmp_path) is None


@pytest.mark.parametrize("written", [OSError(errno.ENOSPC, "No space left on device"), 3])
def test_a_full_disk_costs_only_the_note(written: Any, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(_batches(0)))
    effect = {"side_effect": written} if isinstance(written, OSError) else {"return_value": written}
    with mock.patch("kdump.reading.walk_notes.os.write", **effect):
        assert _note(log, tmp_path) is None


def test_notes_on_several_logs_share_a_file(tmp_path: Path) -> None:
    logs = [tmp_path / f"{first:020}.log" for first in (0, 8, 16)]
    for log in logs:
        log.write_bytes(b"".join(_batches(int(log.stem))))
    notes = [_note(log, tmp_path) for log in logs]  # the file is opened again each time, as after a crash
    for log, note in zip(logs, notes, strict=True):
        assert note is not None
        with TolerantSource(str(log)) as source:
            found = WalkNotes({str(log): note}).sections(source, None, None)
            assert found is not None
            (section,) = found
            assert section.summary is not None
            assert section.summary.first_offset == int(log.stem)
            assert list(section.chunk.batches["position"]) == list(section.summary.positions)
