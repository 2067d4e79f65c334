"""The short form of the campaign with generated command lines."""

import pytest

from campaigns import command_lines
from tests import oracle

COUNT = 80
COUNT_OF_ALL_CASES = 200


@pytest.fixture
def count(all_cases: bool) -> int:
    return COUNT_OF_ALL_CASES if all_cases else COUNT


@pytest.mark.oracle
@pytest.mark.parametrize("release", ["4.3.1", "0.10.2.2"])
def test_kdump_answers_command_lines_as_kafka_does(release: str, count: int) -> None:
    missing = oracle.why_not_available(release)
    if missing:
        pytest.skip(missing)
    answers = list(command_lines.run(release, 1, range(count)))
    differences = [difference for _, difference in answers if difference]
    assert len(answers) == count
    assert not differences, "\n\n".join([f"{len(differences)} differ", *(one.text for one in differences[:3])])


def test_a_command_line_depends_on_release_seed_and_number_only() -> None:
    first, again = (command_lines.command_line("1.0.1", 5, 17, "/case") for _ in range(2))
    assert first == again
    assert first != command_lines.command_line("1.0.1", 5, 18, "/case")
    assert first != command_lines.command_line("2.0.1", 5, 17, "/case")


def test_command_lines_say_many_things() -> None:
    made = [command_lines.command_line("4.3.1", 1, number, "/case").words for number in range(300)]
    said = {word.lstrip("-").partition("=")[0] for words in made for word in words if word.startswith("-")}
    assert said >= {"files", "deep-iteration", "max-bytes", "key-decoder-class", "index-sanity-check"}
