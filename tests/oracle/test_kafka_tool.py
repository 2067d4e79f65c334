"""The oracle returns the same output as the real tool started in the ordinary way."""

import pytest

from golden_outputs.make import settled
from golden_outputs.runs import CASES
from tests.oracle import Run, kafka_tool
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
