"""The verdict of a search, as text for people."""

from __future__ import annotations

from kdump.checks.wording import counted, offset_range
from kdump.formats import tree
from kdump.output.rows.hits import FOUND
from kdump.output.text.sizes import size_text
from kdump.output.text.steps import STDIN, Steps, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.output.rows.hits import NotRead, SearchVerdict

_MAX_SHOWN = 20
_OF_SCHEMAS = "schema-"  # codes that no check has


def verdict_lines(verdict: SearchVerdict, not_read: Sequence[NotRead], scope: str = "") -> Iterator[str]:
    """What was not read intact, and last the verdict. `scope` is what the search was limited to."""
    for gap in not_read[:_MAX_SHOWN]:
        yield gap_line(gap)
    if len(not_read) > _MAX_SHOWN:
        yield f"... and {counted(len(not_read) - _MAX_SHOWN, 'more range')} not read intact; --output ndjson lists all"
    doubtful = (
        (verdict.damaged_hits, "damaged batches or messages"),
        (verdict.salvaged_hits, "batches out of line, whose offsets may be wrong"),
    )
    for hits, what in doubtful:
        if hits:
            yield f"{counted(hits, 'match', 'matches')} {'lies' if hits == 1 else 'lie'} in {what}"
    more = "there may be more matches" if verdict.verdict == FOUND else "it may be there all the same"
    if not_read:
        was = "was" if verdict.not_read == 1 else "were"
        ranges = counted(verdict.not_read, "file or directory", "files or directories")
        if verdict.not_read_bytes:
            ranges = f"{counted(verdict.not_read, 'range')} ({size_text(verdict.not_read_bytes)})"
        yield f"{ranges} {was} not read intact: {more}"
    yield from verdict.unknown_fields
    if verdict.misplaced:
        yield f"{counted(verdict.misplaced, 'key')} not in the partition of the default partitioner"
    if verdict.left_out:
        files, were = counted(verdict.left_out, "file"), "was" if verdict.left_out == 1 else "were"
        yield f"{files} about to be deleted or set aside {were} not searched: {more}; --prove-absent searches them"
    if verdict.certificate is not None:
        yield f"certificate: {verdict.certificate}"
    found = (
        f"{counted(verdict.hits, 'record')} {'matches' if verdict.hits == 1 else 'match'}"
        if verdict.hits
        else "no record matches"
    )
    of_claimed = f"{verdict.records:,} of " if verdict.records != verdict.claimed_records else ""
    searched = (
        f"{counted(verdict.files, 'file')}, {size_text(verdict.bytes)}, {counted(verdict.batches, 'batch', 'batches')},"
        f" {of_claimed}{counted(verdict.claimed_records, 'record')}"
    )
    how = "searched" if not_read or not verdict.is_whole else "read intact"
    if verdict.files:
        yield f"{verdict.verdict}: {found}{scope}; {searched} {how}"
    else:
        yield f"{verdict.verdict}: nothing was searched{scope}"


def steps_after(not_read: Sequence[NotRead], first_match: tuple[str, int] | None) -> Steps:
    """What to type after a search: what is damaged comes before the first match, a file and an offset."""
    steps = Steps()
    for gap in not_read[:1]:
        if gap.file != STDIN and not gap.code.startswith(_OF_SCHEMAS):
            steps.look(f"kdump check {shell_word(tree.parent(gap.file) if gap.start is not None else gap.file)}")
    if first_match is not None and first_match[0] != STDIN:
        path, offset = first_match
        steps.look(f"kdump log --deep --output table --offset {offset} {shell_word(path)}")
    return steps


def gap_line(gap: NotRead) -> str:
    """A range that was not read intact, in one line."""
    where = gap.file
    if gap.start is not None and gap.end is not None and gap.end > gap.start:
        where += f": bytes {gap.start:,} to {gap.end - 1:,}"
    if gap.offset is not None and gap.next_offset is not None and gap.next_offset > gap.offset:
        where += f" ({offset_range(gap.offset, gap.next_offset - 1)})"
    elif gap.offset is not None and gap.next_offset is None:
        where += f" (from offset {gap.offset:,} on)"
    return f"{where}: {gap.message} ({gap.code})"
