"""`kdump releases` prints the complete history, and nothing else."""

import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kdump.binary.codecs.quirks import CodecQuirks
from kdump.cli.commands import main
from kdump.output.text import releases as output
from kdump.releases import changes, decoder_words, exception_texts, history, known, schemas
from kdump.releases.decoder_words import DecoderWords
from kdump.releases.exception_texts import Words
from kdump.releases.profile import Profile
from kdump.releases.timeline import FIRST, History, Part
from tests.loops import each
from tests.support import Capture

Json = dict[str, Any]  # an object from json.loads

GROUPS = changes.groups()
OF_BATCHES = "isValid, baseOffset, lastOffset, batchSize, magic, compressType, position"


def _shown(value: object) -> object:
    """A value that compares by its contents."""
    if isinstance(value, Words):
        return value.exception, value.message
    if isinstance(value, history.ControlType):
        return value.name, value.is_marker, value.heading
    if isinstance(value, history.Option):
        return value.name
    return {key: _shown(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def _slots(value: object) -> object:
    return vars(value) if isinstance(value, CodecQuirks) else value


def _profile(release: str) -> Json:
    """Everything that code reads from a profile, except our own limitations and the release itself."""
    profile = Profile(release)
    ours = ("release", "version_text", "_then", "_decoder_words", "topic_decoders")
    values = {name: _shown(value) for name, value in vars(profile).items() if name not in ours}
    values |= {
        f"decoder_words.{name}": _shown(value) for name, value in vars(DecoderWords(History(release))).items() if name != "_then"
    }
    values |= {code: _shown(profile.words(code)) for code in exception_texts.WORDS}
    values |= {f"help of {name}": profile.description_of(name) for name in profile.options}
    rules = profile.message_rules()
    values["rules"] = rules and {name: _slots(getattr(rules, name)) for name in rules.field_names}
    return values


@each("group", GROUPS, ids=[group.releases[0] for group in GROUPS])
def test_releases_of_one_group_have_equal_profiles(group: changes.Group) -> None:
    first = _profile(group.releases[0])
    for release in group.releases[1:]:
        assert _profile(release) == first


def test_all_releases_are_in_one_group_each_in_order() -> None:
    assert [release for group in GROUPS for release in group.releases] == list(known.RELEASES)


def _beginnings(value: object) -> Iterator[str]:
    if isinstance(value, Part):
        yield from filter(None, (value.since, value.until))
    elif isinstance(value, history.Option):
        yield from _beginnings(value.texts)
    elif isinstance(value, tuple):
        for entry in value:
            yield from _beginnings(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if key in known.RELEASES:
                yield key
            else:
                yield from _beginnings(entry)
    elif isinstance(value, str) and value in known.RELEASES:
        yield value


@pytest.mark.parametrize("module", [history, decoder_words, schemas, exception_texts])
def test_every_release_that_the_history_names_begins_a_group(module: object) -> None:
    silent = ("RELEASES", "COMMITS")
    named = {
        release
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_") and name not in silent
        for release in _beginnings(value)
    }
    assert len(named) > 5
    assert named - {group.releases[0] for group in GROUPS} - {FIRST} == set()


def test_a_fact_has_one_name() -> None:
    names = [fact.name for fact in changes.facts()]
    assert len(names) > 250
    assert sorted(names) == sorted(set(names))


def test_whatever_changed_is_explained_a_switch_by_a_sentence_that_begins_with_whether() -> None:
    assert {change.name for group in GROUPS for change in group.changes if not change.what} == set()
    switches = {change.what for group in GROUPS for change in group.changes if isinstance(change.new, bool)}
    assert len(switches) > 30
    assert [what for what in switches if not what.startswith("Whether ")] == []


@each(
    ("old", "new", "summary"),
    [
        *(("2.1.1", "2.2.0", "batch line: isvalid moved"), ("4.2.1", "4.3.0", 'message record line: "}" removed')),
        *(("0.10.0.1", "0.10.1.0", "log message line: timestamp_type added"), ("2.0.1", "2.1.0", "codec names: zstd added")),
        ("2.7.2", "2.8.0", "--skip-record-metadata added"),
        (*("2.7.2", "2.8.0"), f"message record line: keysize → keySize; valuesize → valueSize; {OF_BATCHES} added"),
        ("3.2.3", "3.3.0", "log heading: Starting offset: {offset} → Log starting offset: {offset}"),
        ("3.2.3", "3.3.0", "suffixes: .checkpoint added"),
        ("2.4.1", "2.5.0", "report order: scala-2.11 → scala-2.13"),
        ("2.1.1", "2.2.0", "`--deep-iteration` shows each batch before its records instead of records only"),
        ("2.0.1", "2.1.0", "no longer: a position past the end of the log yields no batches instead of an error"),
        ("3.3.2", "3.4.1", "last offset version: 3 → 4"),
        ("4.0.2", "4.1.0", "earlier records until: ShareSnapshotValue, ShareUpdateValue removed"),
        ("4.0.2", "4.1.0", "later fields of OffsetCommitValue: topicId added"),
        ("2.3.1", "2.4.0", "record-count-negative reworded"),
    ],
)
def test_a_change_is_put_in_a_phrase(old: str, new: str, summary: str) -> None:
    assert summary in [change.summary for change in changes.changes(old, new)]


def _run(capfd: Capture, *arguments: str) -> tuple[int, str, str]:
    status = main(["releases", *arguments])
    out, err = capfd.readouterr()
    return status, out, err


def test_the_overview_has_a_row_for_releases_that_print_alike(capfd: Capture) -> None:
    status, out, _ = _run(capfd)
    assert status == 0
    assert "\n2.0.1                 1  batch line: isControl added\n" in out
    assert "\n2.5.0 - 2.6.3         6  report order: scala-2.11 → scala-2.13; " in out
    assert max(map(len, out.splitlines())) <= 100


@each("width", [40, 80, 120])
def test_the_overview_fits_the_terminal_but_for_words_that_are_longer(width: int) -> None:
    *rows, _, _, _, _ = output.groups_text(GROUPS, width).splitlines()
    assert [row for row in rows if len(row) > max(width, 55) and " " in row[25:]] == []


def test_one_release_is_compared_with_the_one_before_and_two_with_each_other(capfd: Capture) -> None:
    says = "2.0.1 against 2.0.0: 1 change\n\nbatch line: isControl added\n  A batch of magic 2.\n  2.0.0  baseOffset: "
    for arguments in (["2.0.1"], ["2.0.0", "2.0.1"], ["2.0.0..2.0.1"]):
        status, out, _ = _run(capfd, *arguments)
        assert (status, out[: len(says)]) == (0, says)
        assert " isControl: {isControl} " in " ".join(out.split())


def test_a_release_that_changed_nothing_says_so(capfd: Capture) -> None:
    assert _run(capfd, "3.3.1")[1] == "3.3.1 against 3.3.0: prints the same\n3.3.0 - 3.3.2 print alike.\n"
    assert _run(capfd, "0.8.0")[1] == "0.8.0 is the first release\n"


def test_all_of_it_is_data_too(capfd: Capture) -> None:
    rows = [json.loads(line) for line in _run(capfd, "--output", "ndjson")[1].splitlines()]
    assert [row["first"] for row in rows] == [group.releases[0] for group in GROUPS]
    changes = ["batch line: isControl added"]
    assert {"first": "2.0.1", "last": "2.0.1", "count": 1, "releases": ["2.0.1"], "changes": changes} in rows
    (row,) = [json.loads(line) for line in _run(capfd, "--output", "ndjson", "2.0.1")[1].splitlines()]
    assert list(row) == ["oldRelease", "newRelease", "kind", "name", "summary", "what", "old", "new"]
    assert (row["oldRelease"], row["newRelease"], row["name"]) == ("2.0.0", "2.0.1", "batch line")


def test_without_the_source_of_the_history_only_explanations_are_missing(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_source(_module: object) -> str:
        raise OSError("could not get source code")

    monkeypatch.setattr(inspect, "getsource", no_source)
    assert _run(capfd, "2.0.1")[1].startswith("2.0.1 against 2.0.0: 1 change\n\nbatch line: isControl added\n  2.0.0  baseOffset")
    assert _run(capfd, "2.1.1")[1].startswith("2.1.1 against 2.1.0: 2 changes\n\nsnapshot wraps sequence: no → yes\n")
