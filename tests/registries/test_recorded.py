"""Keys and values of real topics are decoded as the official deserializers decode them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdump.cli.commands import main
from tests.loops import each
from tests.registries import Answer, Question, answers, expected_schema, has_schema

ANSWERS = answers()


def _arguments(question: Question, cases: Path) -> list[str]:
    case, partition, options = question
    files = [str(cases / case / option) if option.startswith("files/") else option for option in options]
    return ["log", "--deep", "--output", "ndjson", *files, str(cases / case / partition)]


def _parts(rows: dict[int, Any], recorded: list[Answer]) -> Iterator[tuple[Answer, Any, Any]]:
    for answer in recorded:
        row, part = rows[answer["offset"]], answer["part"]
        yield answer, row[f"{part}Schema"], row[f"decoded{part.capitalize()}"]


def test_there_are_answers_of_each_kind() -> None:
    recorded = [answer for part in ANSWERS.values() for answer in part]
    assert len(recorded) == 950
    assert {answer.get("framing") for answer in recorded} == {None, "prefix", "header", "single-object", "bare"}
    assert {answer.get("schemaType") for answer in recorded} == {None, "AVRO", "PROTOBUF", "JSON"}
    errors = {"unknown-id", "unknown-guid", "unknown-fingerprint", "undecodable"}
    assert {answer.get("error") for answer in recorded} == {None, *errors}


@each("question", ANSWERS, ids=lambda question: "-".join(question[:2]))
def test_rows_say_what_the_official_deserializers_say(question: Question, cases: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = main(_arguments(question, cases))
    out, err = capfd.readouterr()
    rows = {row["offset"]: row for row in map(json.loads, out.splitlines())}
    for answer, schema, decoded in _parts(rows, ANSWERS[question]):
        if "error" in answer:
            del schema["type"]
            assert rows[answer["offset"]]["decodeError"]
        assert schema == expected_schema(answer), answer
        assert decoded == (answer.get("decoded") if has_schema(answer) else None), answer
    errors = [answer["error"] for answer in ANSWERS[question] if "error" in answer]
    assert ("not decoded" in err) == bool(errors)
    assert status == (1 if errors and question[2] else 0), "what nobody asked for is no finding"
