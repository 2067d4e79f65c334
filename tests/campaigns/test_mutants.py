"""The short form of the campaign with damaged files."""

import pytest

from campaigns import mutants
from golden_outputs.runs import CASES
from tests import oracle

COUNT = 80
COUNT_OF_ALL_CASES = 200


@pytest.fixture
def count(all_cases: bool) -> int:
    return COUNT_OF_ALL_CASES if all_cases else COUNT


@pytest.mark.oracle
@pytest.mark.parametrize("release", ["4.3.1", "1.0.1"])
def test_kdump_prints_what_kafka_prints_of_damaged_files(release: str, count: int) -> None:
    missing = oracle.why_not_available(release)
    if missing:
        pytest.skip(missing)
    outcomes = list(mutants.run(release, range(count), seed=1))
    differences = [difference for outcome in outcomes for difference in outcome.differences]
    assert sum(outcome.agreements.total() for outcome in outcomes) > count
    assert not differences, "\n\n".join([f"{len(differences)} runs differ", *(one.text for one in differences[:3])])


@pytest.mark.oracle
@pytest.mark.parametrize(("release", "decoder"), [("4.3.1", "--offsets-decoder"), ("0.10.2.0", "--offsets-decoder")])
def test_kdump_decodes_damaged_records_as_kafka_does(release: str, decoder: str, count: int) -> None:
    missing = oracle.why_not_available(release)
    if missing:
        pytest.skip(missing)
    outcomes = list(mutants.run(release, range(count), seed=1, decoder=decoder))
    differences = [difference for outcome in outcomes for difference in outcome.differences]
    assert sum(outcome.agreements.total() for outcome in outcomes) == count
    assert not differences, "\n\n".join([f"{len(differences)} runs differ", *(one.text for one in differences[:3])])


def test_records_are_packed_as_the_release_reads_them() -> None:
    made = [mutants.decoded_mutant(1, number, "--offsets-decoder", "0.9.0.1") for number in range(100)]
    assert {one.data[16] for one in made} == {0}
    made = [mutants.decoded_mutant(1, number, "--offsets-decoder", "4.3.1") for number in range(100)]
    assert {one.data[16] for one in made} == {0, 1, 2}


def test_a_mutant_depends_on_its_number_and_the_seed_only() -> None:
    first, again = mutants.mutant(5, 17), mutants.mutant(5, 17)
    assert first == again
    assert first != mutants.mutant(6, 17)
    assert first != mutants.mutant(5, 18)


def test_mutants_differ_from_their_files() -> None:
    made = [mutants.mutant(1, number) for number in range(300)]
    unchanged = [one for one in made if (CASES / one.case / one.file).read_bytes() == one.data]
    assert len(unchanged) < 15
