"""The history of Kafka's tool is ordered and complete, and names only things that exist."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.errors import UsageError
from kdump.formats.offset_index import OffsetIndexEntry
from kdump.formats.producer_snapshot import ProducerState
from kdump.formats.record import Record
from kdump.formats.record_batch import RecordBatch
from kdump.formats.time_index import TimeIndexEntry
from kdump.formats.transaction_index import AbortedTransaction
from kdump.releases import broker_startup, decoder_words, exception_texts, history, known
from kdump.releases.broker_startup import PROVED, StartRules
from kdump.releases.profile import profile_of
from kdump.releases.timeline import History, Part, version_of
from tests.loops import each

PACKAGE = Path(kdump.__file__).parent
_RELEASE = re.compile(r"\d+(\.\d+){2,3}\Z")
_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+\Z")


# --- timelines


def _timelines() -> Iterator[tuple[str, Mapping[str, Any]]]:  # of values of any type
    for module in (history, exception_texts):
        for name, value in vars(module).items():
            if isinstance(value, dict) and value and all(_is_release(key) for key in value):
                yield name, value
    yield from exception_texts.WORDS.items()
    for option in history.OPTIONS:
        yield f"--{option.name}", option.texts
        if option.defaults:
            yield f"--{option.name}, defaults", option.defaults


def _is_release(key: object) -> bool:
    return isinstance(key, str) and _RELEASE.match(key) is not None


TIMELINES = list(_timelines())


@each("timeline", [timeline for _, timeline in TIMELINES], ids=[name for name, _ in TIMELINES])
def test_a_timeline_is_in_ascending_order(timeline: Mapping[str, object]) -> None:
    assert len(TIMELINES) > 100
    releases = [version_of(release) for release in timeline]
    assert releases == sorted(set(releases))


def test_releases_are_in_ascending_order_and_the_last_is_the_newest() -> None:
    versions = [version_of(release) for release in known.RELEASES]
    assert versions == sorted(set(versions))


def test_a_start_is_forecast_by_the_nearest_release_that_was_recorded() -> None:
    near = {"0.10.0.0": "2.8.2", "2.8.0": "2.8.2", "3.0.0": "3.9.1", "4.0.0": "4.3.1", "4.3.0": "4.3.1", "4.4.0": "4.4.0"}
    assert {release: broker_startup.nearest(release) for release in near} == near


def test_before_its_first_release_a_timeline_holds_nothing() -> None:
    timeline = {"2.3.0": "Display Kafka version."}
    assert History("2.2.2").find(timeline) is None
    assert History("2.3.0").find(timeline) == "Display Kafka version."
    with pytest.raises(UsageError):
        History("2.2.2").at(timeline)


# --- parts of lines


def test_a_part_is_in_the_releases_from_since_up_to_until() -> None:
    parts = (Part("a"), Part("b", since="2.0.0", until="2.2.0"))
    lines = {release: History(release).line(parts) for release in ("0.8.0", "1.1.1", "2.0.0", "2.1.1", "2.2.0")}
    assert lines == {"0.8.0": ("a",), "1.1.1": ("a",), "2.0.0": ("ab",), "2.1.1": ("ab",), "2.2.0": ("a",)}


def test_a_line_is_cut_where_the_tool_begins_another_write() -> None:
    parts = (Part("a"), Part("b", starts_write=True), Part("c"), Part("d", starts_write=True, since="9.0.0"))
    assert History("4.3.1").line(parts) == ("a", "bc")


_OF_BATCHES = {column.name for column in RecordBatch.schema}
_OF_RECORDS = _OF_BATCHES | {one.name for one in Record.schema} | {"record_crc", "record_isvalid", "contents", "first_offset"}
_OF_PRODUCERS = {column.name for column in ProducerState.schema} | {"first_sequence", "cached_metadata"}

LINES = {
    "LOG_MESSAGE_LINE": _OF_RECORDS,
    "BATCH_LINE": _OF_BATCHES,
    "MESSAGE_LINE": _OF_BATCHES,
    "BATCH_RECORD_LINE": _OF_RECORDS,
    "MESSAGE_RECORD_LINE": _OF_RECORDS,
    "TRANSACTION_LINE": {column.name for column in AbortedTransaction.schema},
    "SNAPSHOT_LINE": _OF_PRODUCERS,
    "SNAPSHOT_BATCH_PART": _OF_PRODUCERS,
}


def test_every_line_of_parts_is_examined_here() -> None:
    of_parts = {
        name
        for name, value in vars(history).items()
        if isinstance(value, tuple) and value and all(isinstance(part, Part) for part in value) and not name.startswith("_")
    }
    assert of_parts == set(LINES)


@each(("name", "fields"), list(LINES.items()), ids=list(LINES))
def test_the_fields_of_a_part_exist_and_its_releases_make_sense(name: str, fields: set[str]) -> None:
    for part in getattr(history, name):
        assert set(re.findall(r"\{(\w+)\}", part.text)) <= fields, part.text
        assert not part.until or version_of(part.since) < version_of(part.until), part.text


def test_the_lines_of_indexes_show_all_fields_of_an_entry() -> None:
    for timeline, row_class in ((history.INDEX_LINE, OffsetIndexEntry), (history.TIME_INDEX_LINE, TimeIndexEntry)):
        for line in timeline.values():
            assert re.findall(r"\{(\w+)\}", line) == [column.name for column in row_class.schema]


# --- words


# Codes that Kafka's tool never reports: findings of rules, and faults of files that it does not read.
_WITHOUT_WORDS = {
    *(PACKAGE / "formats" / name for name in ("text_checkpoint.py", "partition_metadata.py", "quorum_state.py")),
    # faults there are reported to the caller, or become findings
    *(PACKAGE / "pipeline" / name for name in ("logs.py", "discovery.py", "listed_source.py")),
    *(PACKAGE / "library").glob("*.py"),
}


# They report only to `kdump check`, and to what mends and searches: their codes are those of findings.
_OF_FINDINGS = {PACKAGE / name for name in ("checks", "reading", "mending", "searching")}


@cache
def _nodes() -> list[tuple[str, ast.AST]]:
    """What the other sources consist of, with the name of the file."""
    paths = [path for path in PACKAGE.rglob("*.py") if path not in _WITHOUT_WORDS and _OF_FINDINGS.isdisjoint(path.parents)]
    return [(path.name, node) for path in paths for node in ast.walk(ast.parse(path.read_text()))]


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for _, node in _nodes():
        if isinstance(node, ast.Call):
            function = node.func
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            yield name, node


_RAISING = {"CorruptData": 0, "Unreadable": 0, "Fault": 0, "_fault": 0, "bad": 0, "corrupt": 0, "coded": 1}


def _codes_in(node: ast.AST) -> set[str]:
    constants = (found.value for found in ast.walk(node) if isinstance(found, ast.Constant))
    return {value for value in constants if isinstance(value, str) and _CODE.match(value)}


@cache
def _raised_codes() -> frozenset[str]:
    codes: set[str] = set()
    for name, call in _calls():
        if name in _RAISING and len(call.args) > _RAISING[name]:
            codes |= _codes_in(call.args[_RAISING[name]])
    for file, node in _nodes():
        # codes on their way to a fault: `code = ...`, dicts of codes, and what the kernel's loops return
        if isinstance(node, ast.Assign) and any("code" in ast.unparse(target).lower() for target in node.targets):
            codes |= _codes_in(node.value)
        if file == "reference.py" and isinstance(node, ast.Return) and node.value is not None:
            codes |= _codes_in(node.value)
    return frozenset(codes)


# The kernel's code for `compressed-record-length-negative` in all messages: other batches have no such fault.
_NEVER_RAISED = {"record-length-negative"}
# Codes of our own options and commands, which Kafka's tool does not have.
_OPTIONS = {f"{option.name}" for option in history.OPTIONS}


def test_there_are_codes() -> None:
    assert {"record-size-too-small", "frame-damaged", "header-key-null", "index-missing", "option-unknown"} <= _raised_codes()


# Codes of checks, verdicts, writers and surroundings of a log: no run of Kafka's tool raises them.
_NOT_OF_THE_TOOL = {
    *("bad-magic", "crc-mismatch", "decoder-not-started", "file-changed", "file-not-recognized", "foreign-segment"),
    *("not-a-segment", "offset-below-base", "offset-overflow-int32", "resync-budget"),
}


def test_every_fault_has_its_words() -> None:
    raised = {code for code in _raised_codes() if not code.startswith("meta-")}
    worded = exception_texts.WORDS.keys() | decoder_words.WORDS.keys()
    assert raised - _NEVER_RAISED - _OPTIONS - _NOT_OF_THE_TOOL - worded == set()


def test_a_damaged_stream_has_words_after_the_records_and_in_wrappers_too() -> None:
    codes = {code.removesuffix("-behind-records") for code in _raised_codes() if code.startswith("frame-")} - {"frame-bad-header"}
    assert len(codes) > 3
    assert {f"{code}-behind-records" for code in codes} | {f"wrapper-{code}" for code in codes} <= exception_texts.WORDS.keys()


def test_every_word_stands_for_a_fault() -> None:
    raised = _raised_codes()
    derived = {f"{code}-behind-records" for code in raised} | {f"wrapper-{code}" for code in raised}
    derived |= {f"{code}-deep" for code in raised} | {f"{code}-read" for code in raised} | {f"loaded-{code}" for code in raised}
    assert set(exception_texts.WORDS) - raised - derived == set()
    assert set(decoder_words.WORDS) - raised == set()


def test_words_name_only_values_that_some_fault_has() -> None:
    values = {"path", "name", "position", "message", "records", "java_cause", "codec_name"}
    for name, call in _calls():
        if name in _RAISING or name == "_header_cut":
            values |= {keyword.arg for keyword in call.keywords if keyword.arg is not None}
    reference = ast.parse((PACKAGE / "binary" / "reference.py").read_text())
    for node in ast.walk(reference):
        if isinstance(node, ast.Dict):
            values |= {key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    for code, timeline in exception_texts.WORDS.items():
        for of_release in timeline.values():
            placeholders = set(re.findall(r"(?<!\{)\{(\w+)[^{}]*\}", of_release.message or ""))
            assert placeholders <= values, code


# --- profiles


def _refusal(release: str) -> str:
    with pytest.raises(UsageError) as caught:
        profile_of(release)
    return str(caught.value)


PATCHES = "is no full number, and patch releases differ; there are"


@each(
    ("release", "hint"),
    [
        ("2.0.7", "is not known; did you mean 2.0.1 or 2.1.0? Known are 0.8.0, 0.8.1, "),
        ("9.9.9", "is not known; did you mean 4.4.0? Known are "),
        ("0.7.2", "is not known; did you mean 0.8.0? Known are "),
        ("v2.0.1", "is not known; did you mean 2.0.1? Known are "),
        ("kafka_2.13-3.7.1", "is not known; did you mean 3.7.1? Known are "),
        ("3.7.1-rc0", "is not known; did you mean 3.7.1? Known are "),
        ("2.0.1.0", "is not known; did you mean 2.0.1 or 2.1.0? Known are "),
        ("4.4", "is no full number; there are 4.4.0"),
        ("foo", f"is not known; the newest is {known.RELEASES[-1]}; known are 0.8.0, "),
        ("9" * 5000, "is not known; the newest is "),
        *((release, f"{PATCHES} 2.0.0, 2.0.1 (`kdump releases` tells them apart)") for release in ("2.0", "2.0.", "2.0.x")),
        *((release, "") for release in ("", "4.3", "4.3.1.0", " 4.3.1", "latest")),  # it is named in full
    ],
)
def test_an_unknown_release_is_refused_with_its_neighbours(release: str, hint: str) -> None:
    said = _refusal(release)
    assert said.startswith(f"--release {release} {hint}") or not hint


# --- starts


def test_the_rules_of_a_start_hold_in_the_releases_in_which_they_were_recorded() -> None:
    """In 2.8.2, 3.9.1, 4.3.1 and 4.4.0: recorded starts show each (tests/forecasts), but take minutes."""
    assert PROVED == ("2.8.2", "3.9.1", "4.3.1", "4.4.0")
    holding = {
        "checks_marker_size": "yyNN",
        "transaction_version_is_a_byte": "yyyN",
        "is_assumed": "NNNN",
        **dict.fromkeys(("finds_by_first_offset", "is_always_kraft"), "NNyy"),
        **dict.fromkeys(("tells_of_every_rescan", "bad_numbers_of_epochs_are_lines", "lists_snapshots_first"), "yNNN"),
        **dict.fromkeys(("swaps_by_renaming", "notes_epochs_of_rescans", "goes_offline", "takes_newer_metadata"), "Nyyy"),
        **dict.fromkeys(("survives_lost_transactions", "bad_properties_are_offline"), "Nyyy"),
        **dict.fromkeys(("knows_strays", "keeps_deleted_checkpoints", "knows_metadata_log"), "Nyyy"),
    }
    rules = [vars(StartRules(release)) for release in PROVED]
    found = {name: "".join("Ny"[one[name]] for one in rules) for name in rules[0] if isinstance(rules[0][name], bool)}
    assert found == holding
