"""Reads and writes the goldens: what the real tool printed, by release.

The newest release is kept as text, one file a case, so that a change shows in a review (`4.3.1/CASE.txt`):

    $ kdump --files 00000000000000000000.log
    exit 1
    > a line of stdout
    ! a line of stderr

Printable ASCII stands as it is, a backslash is doubled, any other byte is `\\xNN`. A backslash at the end of a line
says that no newline follows. Every other release is one compressed file of JSON lines (`1.0.1.jsonl.xz`), one line a run, in
which `{"as": "4.3.1"}` stands for a text that is already kept for that release.
"""

import functools
import json
import lzma
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict

FOLDER = Path(__file__).parent
NEWEST = "4.3.1"
COMPACT_SUFFIX = ".jsonl.xz"

_PROMPT, _EXIT, _STDOUT, _STDERR = "$ kdump", "exit ", "> ", "! "
_ESCAPED = re.compile(rb"[^\x20-\x5b\x5d-\x7e]")
_ESCAPE = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")

Stream = Literal["stdout", "stderr"]


class Golden(NamedTuple):
    """What one run of the real tool printed.

    Stack frames and causes of exceptions are left out of `stderr`; `{CWD}` stands for the folder the tool worked in.
    """

    case: str
    arguments: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def run(self) -> tuple[str, tuple[str, ...]]:
        """What identifies the run within a release."""
        return self.case, self.arguments

    def text(self, stream: Stream) -> bytes:
        """What was printed on one of the two streams."""
        return self.stdout if stream == "stdout" else self.stderr


class _Reference(TypedDict("_Reference", {"as": str})):
    """Stands for the text that another release has for the same run."""


class _Row(TypedDict):
    """One line of a compact file."""

    case: str
    args: list[str]
    exit: int
    stdout: str | _Reference
    stderr: str | _Reference


def releases() -> list[str]:
    """The releases that are kept, the newest first."""
    compact = [path.name.removesuffix(COMPACT_SUFFIX) for path in FOLDER.glob("*" + COMPACT_SUFFIX)]
    kept = [NEWEST] if (FOLDER / NEWEST).is_dir() else []
    return kept + sorted(compact, key=release_number, reverse=True)


def release_number(release: str) -> tuple[int, ...]:
    """A release as numbers that compare: 0.10.2.2 is before 2.0.0."""
    return tuple(int(part) for part in release.split("."))


@functools.cache
def read(release: str) -> tuple[Golden, ...]:
    """All goldens of a release, sorted by case, the runs of a case in the order they were made."""
    if release != NEWEST:
        return _read_compact(release)
    return tuple(
        golden
        for path in sorted((FOLDER / release).glob("*.txt"))
        for golden in from_text(path.stem, path.read_text(encoding="ascii"))
    )


def write(goldens: Mapping[str, Iterable[Golden]]) -> None:
    """Keep these goldens of all releases, and no others."""
    in_order = {release: list(goldens[release]) for release in sorted(goldens, key=release_number, reverse=True)}
    for release in set(releases()) - set(in_order):
        if release != NEWEST:
            (FOLDER / (release + COMPACT_SUFFIX)).unlink()
    _write_texts(in_order[NEWEST])
    for release in in_order:
        if release != NEWEST:
            _write_compact(release, in_order)
    forget()


def forget() -> None:
    """Forget what was read, for files that changed since."""
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
    """The goldens of one case out of the readable form."""
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


def _write_texts(goldens: Iterable[Golden]) -> None:
    by_case: dict[str, list[Golden]] = {}
    for golden in goldens:
        by_case.setdefault(golden.case, []).append(golden)
    folder = FOLDER / NEWEST
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.txt"):
        if path.stem not in by_case:
            path.unlink()
    for case, of_case in by_case.items():
        (folder / f"{case}.txt").write_text(to_text(of_case), encoding="ascii", newline="\n")


def _read_compact(release: str) -> tuple[Golden, ...]:
    content = lzma.decompress((FOLDER / (release + COMPACT_SUFFIX)).read_bytes())
    rows: list[_Row] = [json.loads(line) for line in content.decode("ascii").splitlines()]
    return tuple(
        Golden(row["case"], tuple(row["args"]), row["exit"], _kept_text(row, "stdout"), _kept_text(row, "stderr")) for row in rows
    )


def _kept_text(row: _Row, stream: Stream) -> bytes:
    kept = row[stream]
    if isinstance(kept, str):
        return kept.encode("utf-8", "surrogateescape")
    return _by_run(kept["as"])[row["case"], tuple(row["args"])].text(stream)


@functools.cache
def _by_run(release: str) -> dict[tuple[str, tuple[str, ...]], Golden]:
    return {golden.run: golden for golden in read(release)}


def _write_compact(release: str, goldens: Mapping[str, Iterable[Golden]]) -> None:
    """Write one release; a text that a newer release has too stands only with the newest that has it."""
    newer = [other for other in goldens if release_number(other) > release_number(release)]
    by_run = {other: {golden.run: golden for golden in goldens[other]} for other in newer}

    def kept(golden: Golden, stream: Stream) -> str | _Reference:
        text = golden.text(stream)
        for other in newer if text else ():
            if golden.run in by_run[other] and by_run[other][golden.run].text(stream) == text:
                return {"as": other}
        return text.decode("utf-8", "surrogateescape")

    rows: list[_Row] = [
        {
            "case": golden.case,
            "args": list(golden.arguments),
            "exit": golden.exit_code,
            "stdout": kept(golden, "stdout"),
            "stderr": kept(golden, "stderr"),
        }
        for golden in goldens[release]
    ]
    content = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode("ascii")
    packed = lzma.compress(content, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / (release + COMPACT_SUFFIX)).write_bytes(packed)
