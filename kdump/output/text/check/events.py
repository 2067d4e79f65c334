"""Damage that lies in one piece of a file: one event, though each part of it is a finding with a code of its own."""

from __future__ import annotations

from kdump.checks.finding import ERROR, Finding
from kdump.checks.wording import as_sentence, counted, offset_range
from kdump.formats import file_name
from kdump.verdicts.unreadable import is_implausible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ZEROS = "zero-hole"


class Events:
    """Puts the findings of a segment's file together that touch. Findings of a file come one after another, in any order."""

    def __init__(self) -> None:
        self._path = ""
        self._damage: list[tuple[Finding, str]] = []

    def add(self, finding: Finding, group: str) -> Iterator[tuple[Finding, str]]:
        """Take a finding; returns those that are complete, each with its group."""
        if finding.path != self._path:
            yield from self.end()
            self._path = finding.path
        if _is_damage(finding):
            self._damage.append((finding, group))
        else:
            yield finding, group

    def end(self) -> Iterator[tuple[Finding, str]]:
        """The rest of them."""
        pieces: list[list[tuple[Finding, str]]] = []
        end = -1
        for finding, group in sorted(self._damage, key=lambda found: (found[0].start, found[0].end)):
            if pieces and finding.start <= end:
                pieces[-1].append((finding, group))
            else:
                pieces.append([(finding, group)])
            end = max(end, finding.end)
        self._damage = []
        for piece in pieces:
            if len({finding.code for finding, _ in piece}) > 1:
                yield _event([finding for finding, _ in piece]), piece[0][1]
            else:
                yield from piece


def _is_damage(finding: Finding) -> bool:
    suffix = file_name.suffix(finding.path)
    is_piece = bool(finding.skipped) if suffix == file_name.LOG else finding.end > finding.start
    return finding.severity == ERROR and is_piece and suffix in file_name.SEGMENT_SUFFIXES


def _event(parts: list[Finding]) -> Finding:
    """One finding for several, with the code of the one that says most about the cause."""
    main = next((part for part in parts if part.code == _ZEROS), parts[0])
    start, end = parts[0].start, max(part.end for part in parts)
    offsets = [
        (part.offset_first, part.offset_last)
        for part in parts
        if part.offset_first is not None and part.offset_last is not None and not is_implausible(part)
    ]
    first = min((first for first, _ in offsets), default=None)
    last = max((last for _, last in offsets), default=None)
    return Finding.like(
        main,
        start=start,
        end=end,
        offset_first=first,
        offset_last=last,
        offset_certainty=main.offset_certainty if main.offset_first is not None else parts[0].offset_certainty,
        resync=parts[-1].resync,
        skipped=sum(part.skipped for part in parts),
        message=_sentences(parts, start, end, first, last),
    )


def _sentences(parts: list[Finding], start: int, end: int, first: int | None, last: int | None) -> str:
    codes = ", ".join(dict.fromkeys(part.code for part in parts))
    if file_name.suffix(parts[0].path) != file_name.LOG:
        return f"{as_sentence(parts[0].message)} Reported as {codes}; --all shows each."
    zeros = sum(part.end - part.start for part in parts if part.code == _ZEROS)
    of_them = f", {zeros:,} of them zeros" if zeros else ""
    text = f"{counted(end - start, 'byte')} in one piece are damaged{of_them}"
    if first is not None and last is not None:
        text += f": {offset_range(first, last)} cannot be read"
    text += "."
    return f"{text} Reported as {codes}; --all shows each."
