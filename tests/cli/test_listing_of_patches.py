"""Batches between damage: a listing shows the same, whether they come together or one by one."""

import random
from pathlib import Path
from unittest import mock

import pytest

from campaigns.hostile_files import written
from kdump.cli.listing import run
from kdump.cli.listing.logs import LogLister
from tests import kernels
from tests.builders.compression import compress
from tests.builders.files import file_name
from tests.builders.hostile import HOSTILE, Hostile
from tests.builders.hostile_faults import LOGS
from tests.builders.records import Message, message, message_set, wrapper
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
        ["--from-offset", "20"],
        ["--to-offset", "60", "--limit", "1000000"],
        ["--deep", "--from-offset", "20", "--to-offset", "60"],
        ["--deep", "--from-offset", "1", "--limit", "30"],
        ["--deep", "--limit", "1000000"],
    ):
        with in_patches(together=True):
            together = kernels.listed(["log", *options, path])
        with in_patches(together=False), mock.patch.object(LogLister, "_gathers", lambda _: False):
            assert kernels.listed(["log", *options, path]) == together


@pytest.mark.parametrize("magic", [0, 1])
def test_bad_wrappers_are_listed_with_their_neighbours_as_they_are_one_by_one(
    magic: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "MAX_MESSAGES", 3)
    chance, parts = random.Random(magic), []
    plain = message(value=b"v", magic=magic)
    nested = wrapper(messages=[plain], magic=magic)
    for offset in range(0, 600, 3):
        inside: list[Message | bytes] = [plain] * chance.choice((0, 2, 3)) + [nested] * chance.choice((0, 1))
        kind = chance.choice(("plain", "wrapper", "cut", "cut", "no value"))
        if kind == "plain":
            parts.append(message_set(messages=[plain], base_offset=offset))
        elif kind == "cut":
            payload = compress(message_set(messages=[plain] * 3), codec="gzip")
            parts.append(wrapper(payload=payload[: chance.randrange(1, len(payload))], magic=magic, offset=offset))
        else:
            parts.append(wrapper(messages=inside, magic=magic, offset=offset, has_null_value=kind == "no value"))
    path = tmp_path / file_name(0, ".log")
    path.write_bytes(b"".join(parts))
    for options in (["--print-data-log"], [], *(["--output", form] for form in FORMS)):
        words: list[str | Path] = ["log", "--deep", *options, path]
        with monkeypatch.context() as patched:
            patched.setattr(LogLister, "_gathers", lambda _: False)
            one_by_one = kernels.listed(words)
        with mock.patch.object(LogLister, "_list_part", autospec=True, side_effect=LogLister._list_part) as listed:
            assert kernels.listed(words) == one_by_one
        assert listed.call_count < 60  # of 200 wrappers, most of which are bad


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
