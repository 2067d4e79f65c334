"""The pages of the documentation and the man pages agree with the program, and with one another."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdump.cli.command_names import COMMANDS
from tests.loops import each
from tools import docs, man, modules

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "golden_outputs/*.md", "tests/**/*.md")
    for path in ROOT.glob(pattern)
)

_WIDTH = 100
_FENCE = re.compile(r"^ *(```+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*?)$", re.MULTILINE)


def test_pages_of_reference_and_pictures_are_what_the_program_writes() -> None:
    assert len(docs.pages()) == 4
    assert not docs.stale_pages(), f"they are stale; write them again with: {docs.COMMAND}"


@each("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_every_link_leads_somewhere(page: Path) -> None:
    assert list(_dead_links(page)) == []


@pytest.mark.parametrize(("page", "lines"), [("README.md", 145), ("ARCHITECTURE.md", 190)])
def test_the_first_pages_stay_short(page: str, lines: int) -> None:
    assert (ROOT / page).read_text().count("\n") <= lines, "what few readers need belongs in docs/"


@each("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_prose_is_wrapped_so_that_a_change_of_a_word_is_a_change_of_a_line(page: Path) -> None:
    text = _FENCE.sub("", page.read_text())
    prose = [line for line in text.splitlines() if not re.match(r" *(\||#|!\[|<|    )", line)]
    is_written_by_hand = "do not edit by hand" not in text
    assert [line for line in prose if is_written_by_hand and len(line) > _WIDTH and " " in line.strip()] == []


@each("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_modules_that_a_page_names_are_there(page: Path) -> None:
    names = set(re.findall(r"`([\w/]+/\w+\.py)`", page.read_text()))
    folders = (ROOT, ROOT / "kdump", page.parent)
    assert [name for name in sorted(names) if not any((folder / name).exists() for folder in folders)] == []


@each("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_commands_install_kdump_from_a_checkout(page: Path) -> None:
    """The package index has another project of the same name as the command; ours is `kafka-kdump`."""
    commands = re.findall(r"^    .*(pip install[^&#\n]*)", page.read_text(), re.MULTILINE)
    assert [command for command in commands if re.search(r"[ '\"]kdump\b", command)] == []


def test_the_site_leads_to_every_page() -> None:
    named = set(re.findall(r"^ +- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert named == {str(path.relative_to(docs.DOCS)) for path in docs.DOCS.glob("**/*.md")}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_front_pages_know_every_command(page: str) -> None:
    text = (ROOT / page).read_text()
    assert [name for name in COMMANDS if not re.search(rf"`(kdump )?{name}\b", text)] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path, first_line in modules.summaries(ROOT / "kdump").items() if not first_line]
    assert [path for path in silent if (ROOT / path).read_text().strip()] == []


def _dead_links(page: Path) -> Iterator[str]:
    for link in _LINK.findall(_FENCE.sub("", page.read_text())):
        name, _, anchor = link.partition("#")
        if "://" in name or name.startswith("mailto:"):
            continue
        target = page.parent / name if name else page
        if not target.exists() or anchor and anchor not in _anchors(target):
            yield link


def _anchors(page: Path) -> set[str]:
    """The anchors of headings that are the same on a code host, which keeps each hyphen, and on the site, which joins them."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text()))
    anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    return {anchor for anchor in anchors if "--" not in anchor}


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
