"""Batches between damage: a listing shows the same, whether they come together or one by one."""

from pathlib import Path

import pytest

from kdump.cli.listing import run
from tests import kernels
from tests.builders.hostile import HOSTILE, Hostile
from tests.builders.hostile_faults import LOGS
from tests.campaigns.hostile_files import written
from tests.reading.parts import enough, in_patches

pytestmark = pytest.mark.both_kernels

FORMS = ("ndjson", "csv", "table")


@pytest.mark.parametrize("one", LOGS, ids=lambda one: one.name)
def test_a_listing_does_not_depend_on_what_comes_together(one: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MAX_MESSAGES", 3)
    path = written(one, enough(), tmp_path)
    for options in (
        [],
        ["--deep"],
        ["--deep", "--print-data-log", "--release", "2.0.0"],
        ["--deep", "--output", "ndjson"],
        ["--deep", "--from-position", "500"],
        *(["--output", form] for form in FORMS),
        ["--limit", "7"],
    ):
        with in_patches(together=True):
            together = kernels.listed(["log", *options, path])
        with in_patches(together=False):
            assert kernels.listed(["log", *options, path]) == together


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("one", LOGS, ids=lambda one: one.name)
def test_rows_are_the_same_whether_few_wait_for_others(
    one: Hostile, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = written(one, 40, tmp_path / "a"), written(HOSTILE[0], 40, tmp_path / "b")
    for options in (["--deep"], [], ["--deep", "--limit", "7"]):
        arguments: list[str | Path] = ["log", *options, "--output", form, path, other]
        at_once = kernels.listed(arguments)
        with monkeypatch.context() as patched:
            patched.setattr(run, "MAX_MESSAGES", 3)
            for count in (1, 3, 256):
                patched.setattr(run, "_MANY_TABLES", count)
                assert kernels.listed(arguments).stdout == at_once.stdout
