"""The short form of the campaign that compares kdump with the real tool, for damaged files and generated command lines."""

from collections.abc import Iterable

import pytest

from campaigns import with_kafka
from campaigns.with_kafka import Trial
from tests import oracle
from tests.loops import of_all_cases
from tests.support import skip_if

COUNT, COUNT_OF_ALL_CASES = 50, 200


def _assert_alike(release: str, trials: Iterable[Trial]) -> None:
    skip_if(oracle.why_not_available(release))
    answers = list(with_kafka.run(release, trials))
    differences = [difference.text for _, difference in answers if difference]
    assert len(answers) >= COUNT
    assert not differences, "\n\n".join([f"{len(differences)} runs differ", *differences[:3]])


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("release", "decoder"),
    [("4.3.1", ""), ("1.0.1", ""), ("4.3.1", "--offsets-decoder"), of_all_cases("0.10.2.0", "--offsets-decoder")],
)
def test_kdump_prints_what_kafka_prints_of_damaged_files(release: str, decoder: str, all_cases: bool) -> None:
    numbers = range(COUNT_OF_ALL_CASES if all_cases else COUNT)
    _assert_alike(release, with_kafka.trials_of_mutants(release, 1, numbers, decoder))


@pytest.mark.oracle
@pytest.mark.parametrize("release", ["4.3.1", of_all_cases("0.10.2.2")])
def test_kdump_answers_command_lines_as_kafka_does(release: str, all_cases: bool) -> None:
    _assert_alike(release, with_kafka.trials_of_lines(release, 1, range(COUNT_OF_ALL_CASES if all_cases else COUNT)))
