"""`kdump grep` in decoded keys and values: what matches, what cannot be decided, and certificates with schemas."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import kdump
from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.reading import salvage
from kdump.searching import schema_files
from kdump.searching.decoding import ConditionDecoder
from kdump.searching.undecidable import Undecidable
from tests.builders.files import write_partition
from tests.builders.records import Record, batch, record, transaction_marker
from tests.loops import each
from tests.registries import Answer, Question, answers, has_schema
from tests.searching.conftest import Run
from tests.support import Patch

ANSWERS = answers()
FIRST = f"{0:020d}.log"


@pytest.fixture
def registry(cases: Path, tmp_path: Path) -> Path:
    """A log directory with a registry's topic and Avro values, to change."""
    for name in ("_schemas-0", "jade-both-0"):
        shutil.copytree(cases / "schemas-a" / name, tmp_path / "registry" / name)
    return tmp_path / "registry"


def _leaf(document: Any, path: tuple[str, ...] = ()) -> tuple[str, Any] | None:
    if isinstance(document, dict):
        found = (_leaf(inner, (*path, name)) for name, inner in document.items() if name and not set(name) & set(".=*"))
        return next((one for one in found if one is not None), None)
    if isinstance(document, list) or not path or isinstance(document, float):
        return None
    return ".".join(path), document


def _values() -> list[tuple[Question, Answer]]:
    """One recorded value with a leaf for each question."""
    found = []
    for question, recorded in ANSWERS.items():
        of_values = [one for one in recorded if one["part"] == "value" and has_schema(one) and "error" not in one]
        value = next((one for one in of_values if _leaf(one.get("decoded"))), None)
        if value is not None:
            found.append((question, value))
    return found


VALUES = _values()


def test_recorded_values_are_of_each_type_and_framing() -> None:
    assert {value["schemaType"] for _, value in VALUES} == {"AVRO", "PROTOBUF", "JSON"}
    assert {value["framing"] for _, value in VALUES} == {"prefix", "header", "single-object", "bare"}


OPTIONS = {"--key-decoder": "key_decoder", "--value-decoder": "value_decoder", "--schemas": "schemas"}


def _options(question: Question, cases: Path) -> dict[str, Any]:
    given = {OPTIONS[option]: value for option, value in zip(question[2][::2], question[2][1::2], strict=True)}
    return given | ({"schemas": str(cases / question[0] / given["schemas"])} if "schemas" in given else {})


def _of_values(question: Question) -> list[Answer]:
    return [one for one in ANSWERS[question] if one["part"] == "value"]


def _partition(folder: Path, *records: Record, topic: str = "a") -> Path:
    """A batch for each record."""
    batches = [batch(base_offset=offset, records=[one]) for offset, one in enumerate(records)]
    return write_partition(folder, topic=topic, segments={0: batches})


@each(("question", "answer"), VALUES, ids=["-".join(question[:2]) for question, _ in VALUES])
def test_a_recorded_value_is_found_by_what_a_deserializer_returned(question: Question, answer: Answer, cases: Path) -> None:
    leaf = _leaf(answer["decoded"])
    assert leaf is not None
    path = cases / question[0] / question[1]
    search = kdump.grep(None, path, where=[f"{leaf[0]}={json.dumps(leaf[1])}"], **_options(question, cases))
    found = {hit.offset: hit for hit in search}
    assert json.loads(found[answer["offset"]].decoded_value or "") == answer["decoded"]
    undecodable = {one["offset"] for one in _of_values(question) if "error" in one and has_schema(one)}
    gaps = [(gap.offset, gap.next_offset) for gap in search.not_read]
    not_read = {offset for first, end in gaps if first is not None and end is not None for offset in range(first, end)}
    assert undecodable <= not_read
    decoded = [one for one in _of_values(question) if "error" not in one]
    assert {one["offset"] for one in decoded if _at(one.get("decoded"), leaf[0]) == leaf[1]} == set(found)


def _at(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = document.get(name, ...) if isinstance(document, dict) else ...
    return document


def test_only_a_value_that_its_schema_does_not_decode_may_be_json_without_it() -> None:
    class Failing:
        def part(self, *_given: object) -> Any:
            raise CorruptData("schema-undecodable", "it ends inside a number")

    decoder = ConditionDecoder(Failing())  # type: ignore[arg-type]
    assert decoder.documents("value", b'{"a":1}', b'{"b":2}', None) == [{"b": 2}]
    for part, key, value in (("key", b'{"a":1}', b'{"b":2}'), ("value", b"{}", b"text"), ("value", b"{}", b"5")):
        with pytest.raises(Undecidable, match="ends inside a number"):
            decoder.documents(part, key, value, None)


def test_a_schema_that_is_missing_leaves_the_verdict_open(run: Run, registry: Path) -> None:
    partition = registry / "jade-both-0"
    assert run("--where", "x=777", partition)[0] == 1
    shutil.rmtree(registry / "_schemas-0")
    code, _, said = run("--where", "x=-4", partition)
    assert (code, "(offsets 0 to 6)" in said) == (3, True)
    assert "no schema has the id 4, because no _schemas-0 is beside the data; --schemas DIR says where one is (schema-id" in said
    assert "kdump: not proven: no record matches" in said
    assert run("--where", "x=-4", "--decode", "none", partition)[0] == 3, "values that are JSON: there is none"
    assert run("--in", "decoded", "-e", "no such text", partition)[0] == 3


def test_a_damaged_registry_leaves_the_verdict_open(run: Run, registry: Path) -> None:
    segment = registry / "_schemas-0" / FIRST
    data = bytearray(segment.read_bytes())
    data[-2] ^= 0xFF  # of the last record: all that these values need is there
    segment.write_bytes(data)
    code, _, said = run("--where", "x=777", registry / "jade-both-0")
    assert (code, "schemas may be missing" in said, "(schemas-incomplete)" in said) == (3, True, True)
    assert run("--where", "x=-4", registry / "jade-both-0")[0] == 3, "there may be more"
    assert run("no such text", registry / "jade-both-0")[0] == 1, "a pattern needs no schemas"


@pytest.mark.parametrize("is_gone", [False, True])
def test_schemas_that_change_prove_nothing(is_gone: bool, run: Run, registry: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    walk, segment = salvage.walk, registry / "_schemas-0" / FIRST

    def walked(source: Any, **given: Any) -> Any:
        yield from walk(source, **given)
        if "jade-both-0" in source.path:
            segment.unlink() if is_gone else segment.write_bytes(segment.read_bytes() + b"more")

    monkeypatch.setattr(salvage, "walk", walked)
    arguments = ("--prove-absent", "--certificate", str(tmp_path / "c.json"), "--where", "x=777", registry / "jade-both-0")
    code, _, said = run(*arguments)
    assert (code, "schemas were changed while they were used (file-changed)" in said) == (3, True)


def test_schemas_of_which_no_digest_can_be_made_prove_nothing(registry: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(schema_files, "digest", mock.Mock(side_effect=Unreadable("file-io-error", "an error", path="x")))
    search = kdump.grep(None, registry / "jade-both-0", where=["x=777"], prove_absent=True)
    assert (list(search), search.verdict.verdict) == ([], "not proven")
    assert [(gap.file, gap.code) for gap in search.not_read] == [(str(registry / "_schemas-0" / FIRST), "file-io-error")]


def test_several_processes_say_once_what_is_wrong_with_the_registry(run: Run, registry: Path) -> None:
    shutil.copytree(registry / "jade-both-0", registry / "jade-both-1")
    with (registry / "_schemas-0" / FIRST).open("ab") as file:
        file.write(b"x" * 100)
    paths = (registry / "jade-both-0", registry / "jade-both-1")
    both = [run("--where", "x=-4", "--jobs", jobs, "--output", "ndjson", *paths) for jobs in (1, 2)]
    rows = [[json.loads(line) for line in shown.splitlines()] for _, shown, _ in both]
    assert rows[0][:-1] == rows[1][:-1]
    assert [row["kind"] for row in rows[0]] == [*["hit"] * 4, "not-read", "search-verdict"]
    assert rows[0][0]["decodedKey"] and rows[0][0]["decodedValue"] == {"x": -4}


def test_a_pattern_is_looked_for_in_decoded_json(registry: Path, tmp_path: Path) -> None:
    partition = registry / "jade-both-0"
    assert [hit.offset for hit in kdump.grep('"x":-4', partition, fields=["decoded"])] == [5, 6]
    assert [hit.matched for hit in kdump.grep('"x":-4', partition, fields=["decoded-value"])] == [["decoded-value"]] * 2
    assert list(kdump.grep('"x":-4', partition, fields=["decoded-key"])) == []
    assert list(kdump.grep('"x":-4', partition)) == []
    (hit,) = kdump.grep("\\D1042352526091,", partition, kind="regex", fields=["decoded"])
    assert hit.matched == ["decoded-key"]
    plain = batch(records=[record(key=b"k", value=b'a "quoted" text'), record(value=b'{"a":"a \\"quoted\\" text"}')])
    write_partition(tmp_path, topic="plain", segments={0: [plain]})
    found = kdump.grep('"quoted"', tmp_path / "plain-0", fields=["decoded"])
    assert [(hit.offset, hit.matched) for hit in found] == [(0, ["value"]), (1, ["value"])]
    with pytest.raises(UsageError, match="needs them to be decoded"):
        kdump.grep("x", partition, fields=["decoded"], decode=False)
    with pytest.raises(UsageError, match="of no use if nothing is decoded"):
        kdump.grep("x", partition, key_decoder="string", decode=False)


def test_values_that_do_not_say_what_they_are_leave_the_verdict_open(tmp_path: Path) -> None:
    values = [b"text\n", b"", None, b'{"a":1}', b"[1]", b"\x06foo", b"\xc3\x01" + b"x" * 9, b"\0\0\0\0\1\2"]
    path = _partition(tmp_path, *(record(value=value) for value in values))
    search = kdump.grep(None, path, where=["a=2"])
    assert list(search) == []
    open_ones = {5: "schema-missing", 6: "schema-fingerprint-unknown", 7: "schema-id-unknown"}
    assert [(gap.offset, gap.code) for gap in search.not_read] == list(open_ones.items())
    marked = tmp_path / "marked"
    commit = transaction_marker(base_offset=1, producer_id=7, is_commit=True)
    write_partition(marked, topic="a", segments={0: [batch(records=[record(key=b"k", value=b'{"a":1}')]), commit]})
    search = kdump.grep("none", marked, fields=["decoded"])
    assert (list(search), search.verdict.verdict) == ([], "absent"), "a marker is decoded by no schema"
    assert [hit.matched for hit in kdump.grep("k", marked, key="k")] == [["key"]], "named once"
    both = _partition(tmp_path / "both", record(key=b'{"a":1}', value=values[-1]))
    assert [hit.matched for hit in kdump.grep('"a"', both, fields=["decoded"])] == [["key"]], "whatever its value is"
    for options in ({"decode": False}, {"value_decoder": "string"}):
        search = kdump.grep(None, path, where=["a=2"], **options)
        assert (list(search), search.verdict.verdict) == ([], "absent")


def test_what_a_topic_of_kafka_does_not_decode_to_leaves_the_verdict_open(tmp_path: Path) -> None:
    """Whatever it looks like: here text, and a value that is JSON for other topics."""
    key = b"\0\1\0\1g\0\1t\0\0\0\0"  # an offset of group g in t-0
    path = _partition(tmp_path, *(record(key=key, value=value) for value in (b"text", None)), topic="__consumer_offsets")
    search = kdump.grep(None, path, where=["offset=1"])
    assert (list(search), search.verdict.verdict, [gap.offset for gap in search.not_read]) == ([], "not proven", [0])


def test_values_without_a_name_of_a_schema_need_one(run: Run, cases: Path) -> None:
    partition, schema = cases / "schemas-a" / "iris-bare-0", cases / "schemas-a" / "files" / "cedar.avsc"
    given = ("--value-decoder", "avro", "--schemas", schema, "--output", "ndjson", "--where", "nadir=false", partition)
    code, shown, _ = run(*given)
    rows = [json.loads(line) for line in shown.splitlines()]
    values = [one for question in ANSWERS if question[:2] == ("schemas-a", "iris-bare-0") for one in _of_values(question)]
    recorded = [one for one in values if one["decoded"]["nadir"] is False]
    assert {row["offset"] for row in rows[:-1]} == {one["offset"] for one in recorded} and code == 0
    assert run("--where", "nadir=false", partition)[0] == 3, "nobody says that it is Avro"
    found = kdump.grep(None, partition, where=["nadir=false"], value_decoder="avro", schemas=schema)
    assert len(list(found)) == len(recorded)


def test_stdin_is_decoded_with_named_schemas(registry: Path) -> None:
    log = (registry / "jade-both-0" / FIRST).read_bytes()
    codes = []
    for options in ([], ["--schemas", str(registry)]):
        command = [sys.executable, "-m", "kdump", "grep", "--where", "x=-4", "--count", *options, "-"]
        codes.append(subprocess.run(command, input=log, capture_output=True, check=False).returncode)
    assert codes == [3, 0]


@each(("question", "answer"), VALUES, ids=["-".join(question[:2]) for question, _ in VALUES])
def test_a_member_is_found_in_what_the_official_deserializer_returned(question: Question, answer: Answer, cases: Path) -> None:
    path, value = _leaf(answer["decoded"]) or ("", None)
    member = _json({path.rpartition(".")[2]: value})[1:-1]
    texts = {one["offset"]: _json(one["decoded"]) for one in _of_values(question) if "decoded" in one}
    given = {"fields": ["decoded-value"], **_options(question, cases)}
    found = {hit.offset for hit in kdump.grep(member, cases / question[0] / question[1], **given)}
    assert found == {offset for offset, text in texts.items() if member in text}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_a_command_decodes_for_conditions(run: Run, tmp_path: Path) -> None:
    source = "import json, sys\nfor line in sys.stdin: print(json.dumps({'value': {'n': len(line)}}), flush=True)"
    (tmp_path / "decoder.py").write_text(source)
    write_partition(tmp_path, topic="a", segments={0: [batch(records=[record(value=b"abc"), record(value=b"x" * 99)])]})
    command = f"{sys.executable} '{tmp_path / 'decoder.py'}'"
    length = len(json.dumps({"part": "value", "topic": "a", "data": "YWJj", "headers": []})) + 1
    arguments = ("--where", f"n={length}", "--count", tmp_path / "a-0")
    assert run("--decoder-cmd", command, *arguments)[:2] == (0, f"{tmp_path / 'a-0' / FIRST}:1\n")
    code, _, said = run("--decoder-cmd", "false", *arguments)
    assert (code, "decoder-failed" in said, "not proven" in said) == (3, True, True)


@each(
    "options",
    [
        *("--value-decoder avro x", "--in decoded --decode none -e x", "--where a=1 --schemas /no/such/file"),
        *(f"--where a=1 --value-decoder {wrong}" for wrong in ("rot14", "avro --decode none", "cmd")),
    ],
)
def test_decoders_that_cannot_be_used_are_refused(run: Run, registry: Path, options: str) -> None:
    assert run(*options.split(), registry / "jade-both-0")[0] == 2


def test_a_certificate_has_the_schemas_that_were_used(run: Run, registry: Path, tmp_path: Path) -> None:
    place, partition, topic = tmp_path / "gone.json", registry / "jade-both-0", registry / "_schemas-0"
    assert run("--prove-absent", "--certificate", place, "--where", "x=777", partition)[0] == 1
    body = json.loads(place.read_text())
    assert body["options"]["decode"] == "auto" and body["options"]["valueDecoder"] is None
    assert body["schemas"]["places"] == [str(topic)]
    assert [file["path"] for file in body["schemas"]["files"]] == [str(topic / FIRST)]
    assert run("--verify", place)[0] == 0
    moved = tmp_path / "moved"
    registry.rename(moved)
    assert run("--verify", place, moved / "jade-both-0")[0] == 0
    later = moved / "_schemas-0" / "00000000000000000999.log"
    later.write_bytes(b"")
    code, shown, _ = run("--verify", place, moved / "jade-both-0")
    assert (code, f"{later}: new: it was not there" in shown) == (1, True)
    later.unlink()
    with (moved / "_schemas-0" / FIRST).open("ab") as file:
        file.write(b"x")
    code, shown, _ = run("--verify", place, moved / "jade-both-0")
    assert (code, "its size was" in shown) == (1, True)


def test_a_certificate_has_schema_files(run: Run, cases: Path, tmp_path: Path) -> None:
    shutil.copytree(cases / "schemas-a" / "iris-bare-0", tmp_path / "data" / "iris-bare-0")
    schema = tmp_path / "schema.avsc"
    shutil.copy(cases / "schemas-a" / "files" / "cedar.avsc", schema)
    given = ("--value-decoder", "avro", "--schemas", schema, "--where", "nadir=7", tmp_path / "data" / "iris-bare-0")
    assert run("--prove-absent", "--certificate", tmp_path / "gone.json", *given)[0] == 1
    assert run("--verify", tmp_path / "gone.json")[0] == 0
    schema.write_text(schema.read_text() + " ")
    code, shown, _ = run("--verify", tmp_path / "gone.json")
    assert (code, f"{schema}: changed" in shown) == (1, True)


def test_matches_with_decoded_values_go_into_parquet_and_tables(run: Run, cases: Path, registry: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    given = ("--where", "x=-4", registry / "jade-both-0")
    assert run("--output", "parquet", "-o", tmp_path / "hits.parquet", *given)[0] == 0
    table = parquet.read_table(tmp_path / "hits.parquet")
    assert str(table.schema.field("decodedKey").type) == "struct<id: int64, region: string>"
    assert [row["x"] for row in table.column("decodedValue").to_pylist()] == [-4, -4]
    assert json.loads(table.column("valueSchema")[0].as_py())["id"] == 4
    assert run("--output", "parquet", "-o", tmp_path / "hits.parquet", *given)[0] == 2, "it exists"
    assert [path.name for path in tmp_path.iterdir() if "incomplete" in path.name] == []
    shutil.copytree(cases / "schemas-a" / "heron-json-0", registry / "heron-json-0")
    both = ("--from-offset", "0", "-e", "", registry / "jade-both-0", registry / "heron-json-0")
    assert run("--output", "parquet", "-o", tmp_path / "both.parquet", *both)[0] == 0
    table = parquet.read_table(tmp_path / "both.parquet")
    assert str(table.schema.field("decodedValue").type) == "string", "JSON has no types"
    assert '{"x":-4}' in run("--output", "table", *given)[1]
    assert '"{""x"":-4}"' in run("--output", "csv", *given)[1]


def test_internal_topics_are_decoded_by_kafkas_own_schemas(tmp_path: Path) -> None:
    key = b"\0\1" + b"\0\5group" + b"\0\6orders" + b"\0\0\0\0"
    value = b"\0\3" + (42).to_bytes(8, "big") + b"\xff\xff\xff\xff" + b"\0\0" + (1).to_bytes(8, "big")
    records = [record(key=key, value=value), record(key=b"\0\1", value=value)]
    path = _partition(tmp_path, *records, topic="__consumer_offsets")
    search = kdump.grep(None, path, where=["data.offset=42"])
    assert [(hit.offset, json.loads(hit.decoded_key or "")["data"]["group"]) for hit in search] == [(0, "group")]
    assert [(gap.offset, gap.next_offset) for gap in search.not_read] == [(1, 2)]
    search = kdump.grep(None, path, where=["data.offset=42"], value_decoder="avro")
    assert [hit.offset for hit in search] == [0]


def test_a_segment_of_the_registry_is_refused_for_its_directory(run: Run, registry: Path) -> None:
    segment = registry / "_schemas-0" / "00000000000000000000.log"
    code, _, said = run("--where", "x=-4", "--schemas", segment, registry / "jade-both-0")
    assert (code, "is a segment of a topic; name the directory of the registry's topic, .../_schemas-0" in said) == (2, True)
