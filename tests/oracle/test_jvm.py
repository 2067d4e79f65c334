"""What is said when a process that should answer does not; no JVM is needed for that."""

import os

import pytest

from tests.oracle.jvm import Jvm, NoAnswer


def _started(*command: str) -> Jvm:
    return Jvm(command, os.environ)


def test_answers_are_read_by_line_and_by_size() -> None:
    with _started("cat") as process:
        process.send(b"one\ntwo\nthree")
        assert process.read_line(10) == "one"
        assert process.read(7, 10) == b"two\nthr"
        process.send(b"\n")
        assert process.read_line(10) == "ee"


def test_a_line_longer_than_a_pipe_is_read_whole() -> None:
    text = "x" * (1 << 18)
    with _started("python3", "-c", f"print('x' * {1 << 18})") as process:
        assert process.read_line(10) == text


def test_silence_and_an_end_are_no_answers() -> None:
    with _started("sleep", "60") as process, pytest.raises(NoAnswer, match=r"within 0\.1 s"):
        process.read_line(0.1)
    with _started("echo", "half a line") as process:
        assert process.read(4, 10) == b"half"
        with pytest.raises(NoAnswer, match="has ended"):
            process.read(100, 10)


def test_a_request_to_what_does_not_read_has_no_answer() -> None:
    with _started("sh", "-c", "exec 0<&-; echo closed; sleep 60") as deaf:
        assert deaf.read_line(10) == "closed"
        with pytest.raises(NoAnswer, match="has ended"):
            deaf.send(b"request\n")
