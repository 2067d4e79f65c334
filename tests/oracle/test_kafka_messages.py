"""Every message of Kafka's sources, fed to `kdump explain`: the answer that was decided for it, or none."""

import shutil

import pytest

from kdump.checks.catalogue.lines import matching
from kdump.checks.catalogue.lines.exceptions import EXCEPTIONS
from tests.loops import of_all_cases
from tests.oracle.kafka_messages import messages_of
from tests.oracle.kafka_tool import OracleError
from tests.output.kafka_messages import answer_to, decided, expectation, filled

RELEASES = ("2.8.2", "3.9.1", "4.0.0", "4.3.1")


@pytest.mark.oracle
@pytest.mark.parametrize("release", [*map(of_all_cases, RELEASES[:-1]), RELEASES[-1]])
def test_each_message_of_kafka_gets_the_answer_that_was_decided_or_none(release: str) -> None:
    if shutil.which("mvn") is None:
        pytest.skip("the sources of Kafka need Maven")
    try:
        messages = messages_of(release)
    except OracleError as error:
        pytest.skip(str(error))
    assert len(messages) > 700
    known = decided()
    wrong = []
    for message in messages:
        line = filled(message.shape)
        found = matching.explain(f"{message.how} {line}" if message.how.isupper() else f"org.apache.kafka.{message.how}: {line}")
        if expectation(found) != answer_to(message.shape, known):
            wrong.append(f"{message.source}: {message.shape}: {expectation(found)}")
        assert {one.words for one in found.classes} <= {message.how} & EXCEPTIONS.keys()
    assert not wrong
