"""The comparison of Kafka's message definitions, and that kdump's schemas agree with those of the newest release it knows."""

import shutil

import pytest

from kdump.messages.schema import NEVER, Field
from kdump.releases.known import RELEASES
from tests.oracle import kafka_tool
from tools import definitions
from tools.definitions import OTHERS, Definition, definition, differences, disagreements, facts, of_kdump, of_release

JSON = """
// a licence
{
  "apiKey": 3,
  "type": "coordinator-value",
  "name": "GroupValue",
  "validVersions": "0-2",
  "flexibleVersions": "1+",
  "fields": [
    { "name": "Epoch", "type": "int32", "versions": "0+", "default": -1, "about": "see http://kafka // and on" },
    // since the second version
    { "name": "members", "type": "[]Member", "versions": "1+", "nullableVersions": "2+" },
    { "name": "Gone", "type": "bool", "versions": "0-1" },
    { "name": "Reason", "type": "string", "taggedVersions": "2+", "tag": 0, "nullableVersions": "2+", "default": "null" },
    { "name": "Hosts", "type": "[]int16", "versions": "0+", "nullableVersions": "0+", "default": null }
  ],
  "commonStructs": [
    { "name": "Member", "versions": "0+", "fields": [
      { "name": "Id", "type": "uuid", "versions": "0-2", "mapKey": true }
    ]}
  ]
}
"""


def _definitions(text: str = JSON) -> dict[str, Definition]:
    found = definition(text)
    assert found is not None
    return {found.message.name: found}


def _changes(old: str, new: str) -> list[str]:
    assert JSON.count(old) == 1
    return list(differences(_definitions(), _definitions(JSON.replace(old, new))))


def test_a_definition_says_what_is_stored_in_which_version() -> None:
    assert facts(_definitions()["GroupValue"]) == {
        "number": "3",
        "versions": "0 to 2",
        "compact": "1+",
        "field epoch": "int32, in 0+, default -1",
        "field members": "[]Member, in 1+, null in 2+, common",
        "field members.id": f"uuid, in 1+, default {bytes(16)!r}",
        "field gone": "bool, in 0-1, default False",
        "field reason": "string, in 2+, null in 2+, tag 0 in 2+, default None",
        "field hosts": "[]int16, in 0+, null in 0+, default []",
    }


def test_a_difference_is_a_fact_that_has_changed() -> None:
    assert list(differences(_definitions(), _definitions())) == []
    assert _changes('"versions": "0-2"', '"versions": "0+"') == []
    assert _changes('"default": -1', '"default": "-1"') == []
    assert _changes('"apiKey": 3', '"apiKey": 4') == ["GroupValue: number: 3 -> 4"]
    assert _changes('{ "name": "Gone", "type": "bool", "versions": "0-1" },', "") == ["GroupValue: field gone: missing"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('"tag": 0', '"tag": 0, "flexibleVersions": "2+"', "reason has what is not known here: flexibleVersions"),
        ('"apiKey": 3', '"apiKey": 3, "listeners": []', "GroupValue has what is not known here: listeners"),
        ('"1+", "nullableVersions": "2+"', '"1+", "nullableVersions": "1"', "members is nullable or tagged only in versions"),
    ],
)
def test_what_a_schema_cannot_say_is_an_error(old: str, new: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        _changes(old, new)


def test_a_schema_that_differs_from_its_definition_is_said() -> None:
    ours = {message.name: Definition(number, 0, message) for number, message in of_kdump() if message.last_version != NEVER}
    topic = ours["TopicRecord"].message
    topic = type(topic)(topic.name, *topic.fields, Field("owner", "string", tag=0), flexible_since=0, last_version=0)
    missing = [line for line in disagreements({**ours, "TopicRecord": Definition(2, 0, topic)}) if line.startswith("TopicRecord")]
    assert missing == ["TopicRecord: field owner: missing"]


def test_the_exit_code_says_whether_something_is_new(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ours = {message.name: Definition(number, 0, message) for number, message in of_kdump()}
    newer = {**ours, **_definitions()}
    monkeypatch.setattr(definitions, "of_release", lambda release: newer if release == "9.9.9" else ours)
    monkeypatch.setattr(kafka_tool, "newest_release", lambda known: known)
    monkeypatch.setattr("sys.argv", ["definitions"])
    assert definitions.main() == 0
    assert capsys.readouterr().out == f"{RELEASES[-1]} has nothing new\n"
    monkeypatch.setattr("sys.argv", ["definitions", "9.9.9"])
    assert definitions.main() == 1
    assert capsys.readouterr().out.startswith(f"{RELEASES[-1]} -> 9.9.9: GroupValue: new\n")


@pytest.mark.oracle
@pytest.mark.all_cases
def test_schemas_agree_with_the_definitions_of_the_newest_release() -> None:
    if shutil.which("mvn") is None:
        pytest.skip("the definitions of Kafka need Maven")
    try:
        found = of_release(RELEASES[-1])
    except kafka_tool.OracleError as error:
        pytest.skip(str(error))
    assert list(disagreements(found)) == []
    assert found.keys() >= OTHERS
    assert len(found) - len(OTHERS) == len(list(of_kdump()))
