"""Batches that stand alone between damaged places are listed many at a time, with the rows that they would have one by one."""

from pathlib import Path
from unittest import mock

import pytest

from kdump.cli.listing import run
from kdump.cli.listing.logs import LogLister
from tests import kernels
from tests.builders.hostile import HOSTILE, Hostile
from tests.campaigns.hostile_files import written

pytestmark = pytest.mark.both_kernels

FORMS = (
    ("log",),
    ("log", "--deep"),
    ("log", "--output", "ndjson"),
    ("log", "--output", "table"),
    ("log", "--deep", "--output", "ndjson"),
    ("log", "--deep", "--output", "csv"),
)


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.parametrize("one", [one for one in HOSTILE if one.suffix == ".log"], ids=lambda one: one.name)
def test_hostile_logs_are_listed_as_one_by_one(form: tuple[str, ...], one: Hostile, tmp_path: Path) -> None:
    path = written(one, min(one.parts, 500), tmp_path)
    with mock.patch.object(run, "MAX_MESSAGES", 3):
        together = kernels.listed([*form, path])
        with mock.patch.object(LogLister, "_gathers_patches", lambda _: False):
            assert kernels.listed([*form, path]) == together
