"""Files that get their names when they are complete."""

import errno
import os
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary.placing import place, require_written
from kdump.cli import main as program
from kdump.cli.commands import main
from kdump.exit_codes import CLEAN, FINDINGS, NOT_EXAMINED, OUTPUT_FAILED


def _fails_with(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize("has_links", [True, False])
def test_nothing_is_overwritten(has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    if not has_links:
        monkeypatch.setattr(os, "link", mock.Mock(side_effect=_fails_with(errno.EPERM)))
    place(str(one), str(other))
    assert other.read_text() == "1"
    one.write_text("2")
    with pytest.raises(OSError):
        place(str(one), str(other))
    assert one.exists() and other.exists()


def _full_file_server(descriptor: int) -> None:
    CLOSE(descriptor)
    raise _fails_with(errno.ENOSPC)


CLOSE = os.close


def test_what_only_closing_reports_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "one").open("wb") as file:
        require_written(file.fileno())
        monkeypatch.setattr(os, "close", _full_file_server)
        with pytest.raises(OSError, match="No space left"):
            require_written(file.fileno())
        monkeypatch.undo()
    require_written(1 << 20)  # closed


def test_an_output_that_a_file_server_does_not_take_gets_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = mock.Mock(side_effect=_fails_with(errno.ENOSPC))
    monkeypatch.setattr("kdump.cli.output_file.require_written", refused)
    with pytest.raises(OSError, match="No space left"):
        main(["explain", "crc-mismatch", "-o", str(tmp_path / "out")])
    assert list(tmp_path.iterdir()) == []


def test_a_stdout_that_a_file_server_does_not_take_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program._delivered(CLEAN) == CLEAN
    monkeypatch.setattr(os, "close", _full_file_server)
    assert [program._delivered(code) for code in (CLEAN, FINDINGS, NOT_EXAMINED)] == [OUTPUT_FAILED, OUTPUT_FAILED, NOT_EXAMINED]
    monkeypatch.undo()
    assert capsys.readouterr().err == 2 * "kdump: cannot write the output: No space left on device\n"
