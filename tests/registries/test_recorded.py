"""Keys and values of real topics are decoded as the official deserializers decode them."""

import json
from pathlib import Path

import pytest

from kdump.cli.commands import main
from tests.loops import each
from tests.registries import Question, answers, expected_schema, has_schema

ANSWERS = answers()


def test_there_are_answers_of_each_kind() -> None:
    recorded = [answer for part in ANSWERS.values() for answer in part]
    assert len(recorded) == 950
    assert {answer.get("framing") for answer in recorded} == {None, "prefix", "header", "single-object", "bare"}
    assert {answer.get("schemaType") for answer in recorded} == {None, "AVRO", "PROTOBUF", "JSON"}
    errors = {"unknown-id", "unknown-guid", "unknown-fingerprint", "undecodable"}
    assert {answer.get("error") for answer in recorded} == {None, *errors}


@each("question", ANSWERS, ids=lambda question: "-".join(question[:2]))
def test_rows_say_what_the_official_deserializers_say(question: Question, cases: Path, capfd: pytest.CaptureFixture[str]) -> None:
    case, partition, options = question
    files = [str(cases / case / option) if option.startswith("files/") else option for option in options]
    status = main(["log", "--deep", "--output", "ndjson", *files, str(cases / case / partition)])
    out, err = capfd.readouterr()
    rows = {row["offset"]: row for row in map(json.loads, out.splitlines())}
    for answer in ANSWERS[question]:
        row, part = rows[answer["offset"]], answer["part"]
        schema = row[f"{part}Schema"]
        if "error" in answer:
            del schema["type"]
            assert row["decodeError"]
        assert schema == expected_schema(answer), answer
        assert row[f"decoded{part.capitalize()}"] == (answer.get("decoded") if has_schema(answer) else None), answer
    errors = [answer["error"] for answer in ANSWERS[question] if "error" in answer]
    assert ("not decoded" in err) == bool(errors)
    assert status == (1 if errors and options else 0), "what nobody asked for is no finding"
