"""What the text of sources and pages may not hold."""

import re
from pathlib import Path

import pytest

import kdump
from tools import wording

PACKAGE = Path(kdump.__file__).parent

ASKING = re.compile(
    r"(\bos|\bcalls\(\w+\)|\b_calls)\.(stat|lstat|fstat|listdir|scandir|walk|access|readlink)\("
    r"|\bos\.path\.(exists|lexists|isfile|isdir|islink|getsize|getmtime|samefile)\("
)

ALLOWED = {
    "binary/installing.py": "the environment that kdump runs in",
    "binary/placing.py": "files that kdump has written",
    "binary/source.py": "the descriptor of an open file; failures raise Unreadable",
    "binary/system.py": "the module that asks",
    "cli/commands.py": "a hint on a path that starts like an option",
    "cli/main.py": "standard streams",
    "cli/output_file.py": "the file of -o, where a failure is one of the output",
    "cli/screens/explain.py": "a hint on a file that was given for its lines",
    "cli/unknown_command.py": "a hint on a misspelled command",
    "dropin/tool.py": "whether Kafka's tool could create an index; it opens it in any case",
    "forecasts/permissions.py": "os.access, which answers and never raises",
    "mending/new/new_directory.py": "the directory that kdump makes",
    "output/arrow/files.py": "the file that is written",
    "output/text/check/advice.py": "what a hint names",
    "output/text/check/next_steps.py": "what a hint names",
    "output/text/forecast_steps.py": "what a hint names",
    "output/text/steps.py": "what a hint names",
    "output/triage.py": "what a hint names",
    "pipeline/decoded_tables.py": "tables that kdump has written",
    "pipeline/earlier_scan.py": "tables that kdump has written",
    "pipeline/fleet/written.py": "tables that kdump has written",
    "pipeline/reconciliation.py": "tables that kdump has written",
    "pipeline/taking_over.py": "tables that kdump has written",
    "spark/session.py": "programs and logs of Spark",
    "workers/unfinished.py": "files and folders that kdump has made",
}


def _asking(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if ASKING.search(line)]


def test_no_other_module_asks_the_system_so_that_no_failure_is_taken_for_not_there() -> None:
    asking = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if _asking(path.read_text())}
    assert asking == set(ALLOWED)


ROOT = Path(__file__).parent.parent


def test_nothing_is_unpacked_by_what_some_pythons_do_not_have() -> None:
    for folder in ("tests", "campaigns", "tools", "golden_outputs", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(r"extractall\(", path.read_text()) or path == Path(__file__), path


def test_the_builders_share_no_code_with_the_readers() -> None:
    sources = list((Path(__file__).parent / "builders").glob("*.py"))
    assert len(sources) == 13
    for source in sources:
        assert not re.search(r"^\s*(import|from) kdump", source.read_text(), re.MULTILINE)


def test_no_checked_file_has_an_idiom_that_has_a_plainer_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert wording.run([]) == 0, capsys.readouterr().out


def test_the_checked_folders_exist() -> None:
    assert [folder for folder in wording.FOLDERS if not (wording.ROOT / folder).exists()] == []
