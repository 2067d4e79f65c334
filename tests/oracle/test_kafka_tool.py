"""What the oracle prints is that of the real tool, and `kdump explain` answers each message of Kafka's sources as was decided."""

import shutil

import pytest

from golden_outputs.make import settled
from golden_outputs.runs import CASES
from kdump.checks.catalogue.lines import matching
from kdump.checks.catalogue.lines.exceptions import EXCEPTIONS
from tests.loops import of_all_cases
from tests.oracle import Run, kafka_tool
from tests.oracle.kafka_messages import messages_of
from tests.oracle.kafka_tool import OracleError
from tests.output.kafka_messages import answer_to, decided, expectation, filled
from tests.support import skip_if

RELEASE = "4.3.1"


@pytest.mark.oracle
def test_many_runs_in_one_jvm_print_what_single_runs_print() -> None:
    skip_if(kafka_tool.why_not_available(RELEASE))
    runs = [
        Run(CASES / "magic2-zstd-by-hand", ["--print-data-log", "--files", "00000000000000000000.log"]),
        Run(CASES / "magic2-cut", ["--files", "00000000000000000000.log"]),
        Run(CASES / "index-mismatch", ["--files", "00000000000000000100.index"]),
        Run(CASES / "magic2-length-13", ["--files", "00000000000000000000.log"]),
        Run(CASES / "odd-file-names", ["--files", "\u0663.log,gone.log"]),
        Run(CASES / "options", ["--help"]),
        Run(CASES / "options", []),
    ]
    together = [answer._replace(stderr=settled(answer.stderr)) for answer in kafka_tool.run_many(RELEASE, runs)]
    alone = [kafka_tool.run_alone(RELEASE, run) for run in runs]
    assert together == [answer._replace(stderr=settled(answer.stderr)) for answer in alone]


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
