"""The comparison of Kafka's message definitions, and that kdump's schemas agree with those of the newest release it knows."""

import shutil

import pytest

from kdump.messages.schema import NEVER, Field
from kdump.releases.known import RELEASES
from tests.oracle import kafka_tool
from tools.definitions import OTHERS, Definition, disagreements, of_kdump, of_release


def test_a_schema_that_differs_from_its_definition_is_said() -> None:
    ours = {message.name: Definition(number, 0, message) for number, message in of_kdump() if message.last_version != NEVER}
    topic = ours["TopicRecord"].message
    topic = type(topic)(topic.name, *topic.fields, Field("owner", "string", tag=0), flexible_since=0, last_version=0)
    missing = [line for line in disagreements({**ours, "TopicRecord": Definition(2, 0, topic)}) if line.startswith("TopicRecord")]
    assert missing == ["TopicRecord: field owner: missing"]


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
