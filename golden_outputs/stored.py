"""Reads and writes the goldens: the output of the real tool, by release.

The newest release is stored as text, one file per case, so that changes are visible in a review (`4.4.0/CASE.txt`):

    $ kdump --files 00000000000000000000.log
    exit 1
    > a line of stdout
    ! a line of stderr

Printable ASCII is unchanged, a backslash is doubled, and any other byte is `\\xNN`. A backslash at the end of a line
means that no newline follows.

Every other release is one compressed file of JSON lines (`1.0.1.jsonl.xz`) with its differences from the next newer release: a
line for each run whose output differs or that the newer release lacks, in which `{"as": "4.4.0"}` stands for the text of that
release for the same run; and a line without texts for each run that only the newer release has. A release with the same output
as the next one takes no space, and a text shared by several releases is stored once.
"""

import functools
import itertools
import json
import lzma
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, NotRequired, TypedDict

FOLDER = Path(__file__).parent
COMPACT_SUFFIX = ".jsonl.xz"

_PROMPT, _EXIT, _STDOUT, _STDERR = "$ kdump", "exit ", "> ", "! "
_RELEASE = re.compile(r"\d+(?:\.\d+)+")
_ESCAPED = re.compile(rb"[^\x20-\x5b\x5d-\x7e]")
_ESCAPE = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")

RunOfCase = tuple[str, tuple[str, ...]]
"""The identity of a run within a release: the case and the arguments."""

Stream = Literal["stdout", "stderr"]


class Golden(NamedTuple):
    """The output of one run of the real tool.

    Stack frames and causes of exceptions are left out of `stderr`; `{CWD}` stands for the folder the tool worked in.
    """

    case: str
    arguments: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def run(self) -> RunOfCase:
        """The identity of the run within a release."""
        return self.case, self.arguments

    def text(self, stream: Stream) -> bytes:
        """The output on one of the two streams."""
        return self.stdout if stream == "stdout" else self.stderr


class _Reference(TypedDict("_Reference", {"as": str})):
    """Stands for the text that another release has for the same run."""


class _Row(TypedDict):
    """One line of a compressed file; for a run that this release lacks, only the first two fields."""

    case: str
    args: list[str]
    exit: NotRequired[int]
    stdout: NotRequired[str | _Reference]
    stderr: NotRequired[str | _Reference]


def releases() -> list[str]:
    """The stored releases, the newest first."""
    compact = [path.name.removesuffix(COMPACT_SUFFIX) for path in FOLDER.glob("*" + COMPACT_SUFFIX)]
    texts = [path.name for path in FOLDER.iterdir() if path.is_dir() and _RELEASE.fullmatch(path.name)]
    return sorted(compact + texts, key=release_number, reverse=True)


def release_number(release: str) -> tuple[int, ...]:
    """A release as comparable numbers: 0.10.2.2 is before 2.0.0."""
    return tuple(int(part) for part in release.split("."))


@functools.cache
def read(release: str) -> tuple[Golden, ...]:
    """All goldens of a release, sorted by case.

    What two releases both print is one object for both, if no release between them printed something else.
    """
    return tuple(sorted(_by_run(release).values(), key=lambda golden: golden.case))


def write(goldens: Mapping[str, Iterable[Golden]]) -> None:
    """Store these goldens of all releases, and no others. Those of the newest release become text."""
    in_order = {release: _of_runs(goldens[release]) for release in sorted(goldens, key=release_number, reverse=True)}
    newest, *older = in_order
    for release in releases():
        if release not in older:
            (FOLDER / (release + COMPACT_SUFFIX)).unlink(missing_ok=True)
        if release != newest and (FOLDER / release).is_dir():
            shutil.rmtree(FOLDER / release)
    _write_texts(newest, in_order[newest].values())
    for newer, release in itertools.pairwise(in_order):
        _write_compact(release, newer, in_order)
    forget()


def forget() -> None:
    """Clear the cache, because files have changed."""
    read.cache_clear()
    _by_run.cache_clear()


def to_text(goldens: Iterable[Golden]) -> str:
    """The goldens of one case in the readable form."""
    lines: list[str] = []
    for golden in goldens:
        lines.append(" ".join([_PROMPT, *([_escape(shlex.join(golden.arguments).encode())] if golden.arguments else [])]))
        lines.append(f"{_EXIT}{golden.exit_code}")
        for mark, text in ((_STDOUT, golden.stdout), (_STDERR, golden.stderr)):
            ended, newline, rest = text.rpartition(b"\n")
            lines += [mark + _escape(line) for line in ended.split(b"\n")] if newline else []
            lines += [mark + _escape(rest) + "\\"] if rest else []
        lines.append("")
    return "\n".join(lines)


def from_text(case: str, text: str) -> list[Golden]:
    """The goldens of one case, read from the readable form."""
    goldens = []
    for section in text.split("\n\n"):
        command, exit_code, *lines = section.removesuffix("\n").split("\n")
        if not command.startswith(_PROMPT) or not exit_code.startswith(_EXIT):
            raise ValueError(f"{case}: not the beginning of a run: {command!r}, {exit_code!r}")
        goldens.append(
            Golden(
                case,
                tuple(shlex.split(_unescape(command.removeprefix(_PROMPT)).decode())),
                int(exit_code.removeprefix(_EXIT)),
                _stream(_STDOUT, lines),
                _stream(_STDERR, lines),
            )
        )
    return goldens


def _stream(mark: str, lines: Iterable[str]) -> bytes:
    pieces = []
    for line in lines:
        if line.startswith(mark):
            line = line.removeprefix(mark)
            has_newline = (len(line) - len(line.rstrip("\\"))) % 2 == 0
            pieces.append(_unescape(line) + b"\n" if has_newline else _unescape(line[:-1]))
    return b"".join(pieces)


def _escape(text: bytes) -> str:
    return _ESCAPED.sub(lambda byte: b"\\\\" if byte[0] == b"\\" else b"\\x%02x" % byte[0][0], text).decode("ascii")


def _unescape(text: str) -> bytes:
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else "\\", text).encode("latin-1")


def _of_runs(goldens: Iterable[Golden]) -> dict[RunOfCase, Golden]:
    return {golden.run: golden for golden in goldens}


def _write_texts(release: str, goldens: Iterable[Golden]) -> None:
    by_case: dict[str, list[Golden]] = {}
    for golden in goldens:
        by_case.setdefault(golden.case, []).append(golden)
    folder = FOLDER / release
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.txt"):
        if path.stem not in by_case:
            path.unlink()
    for case, of_case in by_case.items():
        (folder / f"{case}.txt").write_text(to_text(of_case), encoding="ascii", newline="\n")


@functools.cache
def _by_run(release: str) -> dict[RunOfCase, Golden]:
    if (FOLDER / release).is_dir():
        paths = sorted((FOLDER / release).glob("*.txt"))
        return _of_runs(golden for path in paths for golden in from_text(path.stem, path.read_text(encoding="ascii")))
    newer = [other for other in releases() if release_number(other) > release_number(release)]
    kept = dict(_by_run(newer[-1]))
    content = lzma.decompress((FOLDER / (release + COMPACT_SUFFIX)).read_bytes())
    for line in content.decode("ascii").splitlines():
        row: _Row = json.loads(line)
        run = row["case"], tuple(row["args"])
        if "exit" in row:
            kept[run] = Golden(
                *run, row["exit"], _kept_text(run, row["stdout"], "stdout"), _kept_text(run, row["stderr"], "stderr")
            )
        else:
            del kept[run]
    return kept


def _kept_text(run: RunOfCase, kept: str | _Reference, stream: Stream) -> bytes:
    if isinstance(kept, str):
        return kept.encode("utf-8", "surrogateescape")
    return _by_run(kept["as"])[run].text(stream)


def _write_compact(release: str, newer: str, goldens: Mapping[str, Mapping[RunOfCase, Golden]]) -> None:
    """Write how a release differs from the next newer one; each text is stored with the newest release that has it."""
    all_newer = [other for other in goldens if release_number(other) > release_number(release)]

    def kept(golden: Golden, stream: Stream) -> str | _Reference:
        text = golden.text(stream)
        for other in all_newer if text else ():
            if golden.run in goldens[other] and goldens[other][golden.run].text(stream) == text:
                return {"as": other}
        return text.decode("utf-8", "surrogateescape")

    rows: list[_Row] = [{"case": case, "args": list(args)} for case, args in goldens[newer].keys() - goldens[release].keys()]
    rows += [
        {
            "case": golden.case,
            "args": list(golden.arguments),
            "exit": golden.exit_code,
            "stdout": kept(golden, "stdout"),
            "stderr": kept(golden, "stderr"),
        }
        for run, golden in goldens[release].items()
        if goldens[newer].get(run) != golden
    ]
    rows.sort(key=lambda row: (row["case"], row["args"]))
    content = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode("ascii")
    path = FOLDER / (release + COMPACT_SUFFIX)
    if path.exists() and lzma.decompress(path.read_bytes()) == content:
        return  # compressing it again takes longer
    packed = lzma.compress(content, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME)
    path.write_bytes(packed)


NEWEST = releases()[0]
"""The newest stored release, which is text."""
