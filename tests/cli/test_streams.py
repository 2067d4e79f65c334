"""Standard streams that are not as commands want them."""

import io
import os
import sys

import pytest

from kdump.cli.streams import buffer_stdout


def test_a_stdout_without_a_buffer_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, "wb", buffering=0) as raw, io.TextIOWrapper(raw, "latin-1", "replace", write_through=True) as text:
        monkeypatch.setattr(sys, "stdout", text)
        buffer_stdout()
        assert isinstance(sys.stdout.buffer, io.BufferedWriter)
        assert (sys.stdout.fileno(), sys.stdout.encoding, sys.stdout.errors) == (1, "latin-1", "replace")


@pytest.mark.parametrize("stdout", [None, io.StringIO(), io.TextIOWrapper(io.BytesIO())])
def test_any_other_stdout_stays(monkeypatch: pytest.MonkeyPatch, stdout: io.TextIOBase | None) -> None:
    monkeypatch.setattr(sys, "stdout", stdout)
    buffer_stdout()
    assert sys.stdout is stdout
