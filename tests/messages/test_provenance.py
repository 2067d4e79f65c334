"""Each declared version of a message names the release that introduced it, and its KIP and ticket if known."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kdump.messages
from kdump.releases.known import RELEASES
from kdump.releases.schemas import LAST_VERSIONS, LATER_RECORDS
from kdump.releases.timeline import FIRST

FOLDER = Path(kdump.messages.__file__).parent

ORIGIN = re.compile(
    r"# Version (?P<version>\d+)(?P<is_default>, unless a record says otherwise)?:"
    r" (?P<release>[\d.]+)(, KIP-\d+)?( \(KAFKA-\d+(, KAFKA-\d+)*\))?"
)

MAKERS = ("Message", "flexible_message")


class Declared(NamedTuple):
    """A message as a file declares it: its last version, and the release that its comments name for each version."""

    place: str
    name: str
    last_version: int
    releases: dict[int, str]


def _declared(text: str, file: str = "") -> Iterator[Declared]:
    lines = text.splitlines()
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            common = _releases(lines[_first_comment(lines, statement.lineno) : statement.lineno - 1])
            for call in ast.walk(statement):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in MAKERS:
                    own = _releases(lines[_first_comment(lines, call.lineno) : call.end_lineno])
                    name = ast.literal_eval(call.args[0])
                    yield Declared(f"{file}:{call.lineno}", name, _last_version(call), common | own)


def _first_comment(lines: list[str], number: int) -> int:
    """The place of the first line of the comment that ends above a line."""
    place = number - 1
    while place and lines[place - 1].lstrip().startswith("#"):
        place -= 1
    return place


def _releases(lines: list[str]) -> dict[int, str]:
    comments = [line.strip() for line in lines if line.strip().startswith("# Version")]
    found = [ORIGIN.fullmatch(comment) for comment in comments]
    assert None not in found, comments
    return {int(match["version"]): match["release"] for match in found if match}


def _last_version(call: ast.Call) -> int:
    for argument in call.keywords:
        if argument.arg == "last_version":
            return int(ast.literal_eval(argument.value))
    return LAST_CONTROL_VERSIONS.get(ast.literal_eval(call.args[0]), 0)


LAST_CONTROL_VERSIONS = {"LeaderChangeMessage": 1}
"""Control records declare no last version, because Kafka's tool reads all of them as version 0."""


DECLARED = [
    declared
    for path in sorted(FOLDER.glob("*.py"))
    for declared in _declared(path.read_text(), path.name)
    if not declared.name.endswith("Key")  # a key comes with its value
]


def test_each_version_of_each_message_says_where_it_comes_from() -> None:
    silent = [(it.place, it.name) for it in DECLARED if set(it.releases) != set(range(it.last_version + 1))]
    assert silent == []
    assert len(DECLARED) > 70


def test_the_releases_that_brought_versions_exist_and_ascend() -> None:
    for declared in DECLARED:
        places = [RELEASES.index(release) for _, release in sorted(declared.releases.items())]
        assert places == sorted(places), declared.place


def test_the_releases_are_those_that_the_decoders_go_by() -> None:
    current = {it.name: it.releases for it in DECLARED if it.place.startswith("cluster_metadata.py")}
    assert {name: current[name][0] for name in LATER_RECORDS} == LATER_RECORDS
    for name, timeline in LAST_VERSIONS.items():
        for release, last_version in timeline.items():
            if release != FIRST:
                assert current[name][last_version] == release, name


@pytest.mark.parametrize(
    ("text", "releases"),
    [
        ('A = Message("A", last_version=0)\n', {}),
        ('# Version 0: 2.8.0, KIP-631 (KAFKA-12183)\nA = Message("A", last_version=0)\n', {0: "2.8.0"}),
        ('# Version 0: 2.8.0\n\nA = Message("A", last_version=0)\n', {}),
        ('A = Message(\n    "A",\n    # Version 0: 3.0.0 (KAFKA-1, KAFKA-2)\n    last_version=0,\n)\n', {0: "3.0.0"}),
        ('A = {\n    # Version 0: 3.0.0\n    0: flexible_message("A"),\n}\n', {0: "3.0.0"}),
    ],
)
def test_a_version_without_a_release_is_seen(text: str, releases: dict[int, str]) -> None:
    assert [declared.releases for declared in _declared(text)] == [releases]


def test_a_comment_that_names_no_release_is_refused() -> None:
    with pytest.raises(AssertionError):
        list(_declared("# Version 0: KIP-631\nA = Message('A', last_version=0)\n"))
