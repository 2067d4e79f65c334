"""The man pages say what the commands and options are, and roff understands them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kdump.cli.commands import COMMANDS
from tests.loops import each
from tools import man

NAMES = ["kdump.1", *(f"kdump-{name}.1" for name in COMMANDS)]


def test_every_command_has_a_page(tmp_path: Path) -> None:
    assert man.run([str(tmp_path / "man1")]) == 0
    assert sorted(path.name for path in (tmp_path / "man1").iterdir()) == sorted(NAMES)


def test_a_page_names_the_command_its_options_their_values_and_defaults() -> None:
    page = man.pages()["kdump-check.1"]
    assert "kdump\\-check \\- report what is wrong with files, partition directories and log directories\n" in page
    assert "\nkdump check [OPTIONS] PATH...\n" in page
    severities = "One of error, warning, info. The default is error."
    wanted = f".TP\n\\fB\\-\\-fail\\-on SEVERITY\\fR\nExit with code 1 for findings of this severity or worse. {severities}\n"
    assert wanted in page
    assert "globs allowed, such as \\(aqindex\\-*\\(aq." in page


def test_examples_keep_their_lines() -> None:
    examples = ".nf\nkdump explain CorruptRecordException\nkdump explain \\(dqCorruption found in segment 4182,"
    assert examples in man.pages()["kdump-explain.1"]


def test_the_page_of_kdump_has_the_options_of_both_tools() -> None:
    page = man.pages()["kdump.1"]
    assert "\\fB\\-\\-strict\\-stderr\\fR\n" in page
    assert "\\fB\\-\\-skip\\-record\\-metadata\\fR\nSkip metadata when printing records." in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@each("name", NAMES)
def test_roff_has_nothing_to_complain_of(name: str) -> None:
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=man.pages()[name], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    of_new_directories = ("kdump-recover.1", "kdump-redact.1", "kdump-reindex.1", "kdump-slice.1")
    assert "Write the output to FILE" in " ".join(done.stdout.split()) or name in ("kdump.1", *of_new_directories)
