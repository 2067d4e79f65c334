"""The oracle returns the same output as the real tool started in the ordinary way."""

import gzip
import struct
from pathlib import Path

import pytest

from golden_outputs.make import settled
from golden_outputs.runs import CASES
from tests.oracle import Run, kafka_tool
from tests.support import skip_if

pytestmark = pytest.mark.oracle

RELEASE = "4.3.1"


@pytest.fixture(autouse=True)
def _real_tool() -> None:
    skip_if(kafka_tool.why_not_available(RELEASE))


def test_many_runs_in_one_jvm_print_what_single_runs_print() -> None:
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


def test_a_run_leaves_nothing_over_for_the_next(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").touch()
    run = Run(tmp_path, ["--files", "00000000000000000000.index"])  # which the tool creates if it is missing
    first, second = kafka_tool.run_many(RELEASE, [run, run])
    assert first == second
    assert [path.name for path in tmp_path.iterdir()] == ["00000000000000000000.log"]


def test_a_run_without_memory_is_made_again_alone(tmp_path: Path) -> None:
    record_of_1_gib = gzip.compress(bytes([0x80, 0x80, 0x80, 0x80, 0x08]) + bytes(100))
    header = struct.pack(">qiibIhiqqqhii", 0, 49 + len(record_of_1_gib), 0, 2, 0, 1, 0, 0, 0, -1, -1, -1, 1)
    (tmp_path / "00000000000000000000.log").write_bytes(header + record_of_1_gib)
    greedy = Run(tmp_path, ["--deep-iteration", "--files", "00000000000000000000.log"])
    sound = Run(CASES / "log-of-0-bytes", ["--files", "00000000000000000000.log"])
    answers = list(kafka_tool.run_many(RELEASE, [sound, greedy, sound]))
    assert answers[1].stderr.partition(b"\n")[0] == b'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space'
    assert answers[1].exit_code == 1
    assert answers[0] == answers[2] != answers[1]


def test_a_run_that_does_not_end_has_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_tool, "SECONDS_TO_START", 0)
    run = Run(CASES / "log-of-0-bytes", ["--files", "00000000000000000000.log"])
    assert [answer.exit_code for answer in kafka_tool.run_many(RELEASE, [run], seconds_per_run=0.001)] == [None]


def test_releases_get_their_artifacts_and_class() -> None:
    def of(release: str) -> tuple[tuple[str, ...], str]:
        return kafka_tool._since(kafka_tool.ARTIFACTS, release), kafka_tool._since(kafka_tool.MAIN_CLASSES, release)

    assert of("0.8.2.2") == (("kafka_2.10",), "kafka.tools.DumpLogSegments")
    assert of("1.0.1") == (("kafka_2.11",), "kafka.tools.DumpLogSegments")
    assert of("2.5.0") == (("kafka_2.13",), "kafka.tools.DumpLogSegments")
    assert of("4.2.1") == (("kafka_2.13", "kafka-tools"), "kafka.tools.DumpLogSegments")
    assert of("4.3.0") == (("kafka_2.13", "kafka-tools"), "org.apache.kafka.tools.DumpLogSegments")
