"""A triage as a screen of 24 lines: the worst first, each with what to type; then what fills it, and what was not read."""

from __future__ import annotations

from kdump.checks.settings import HEADERS
from kdump.checks.wording import counted
from kdump.formats import properties, tree
from kdump.output.rows.columns import width_of
from kdump.output.text.info import whose
from kdump.output.text.sizes import size_text
from kdump.output.text.steps import shell_word
from kdump.output.text.writer import ReportWriter, wrapped
from kdump.overview.row import ALSO, GOING, RUNNING
from kdump.overview.space import DELETED, FOREIGN, MARKED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.output.text.style import ReportStyle
    from kdump.overview.row import TriageEvent
    from kdump.overview.triage import Triage

_LINES = 24
_HEADING = 16  # cells
_MOST_TEXT = 3  # lines of an event
_MOST_COMMANDS = 2  # of an event
_MOST_PLACES = 3
_RED, _YELLOW, _GREEN = "31", "33", "32"
_NOT_SO_BAD = (ALSO, GOING)
_CUT = " ..."
_ABOUT = "   # "
_MAY_GO = (FOREIGN, DELETED, MARKED[tree.DELETE], MARKED[tree.STRAY])  # kinds of files that fill a disk, and are no live logs
_MUCH = 10  # such a part of all is worth a look
_STOPPED = "with the broker stopped"


def write_screen(triage: Triage, write: Callable[[str], None], style: ReportStyle) -> None:
    """Write what fits on a screen, or with `shows_all` everything."""
    out = ReportWriter(write, style)
    head, tail = _head(out, triage), _tail(out, triage)
    room = _LINES - len(head) - len(tail)
    blocks = [_block(out, event, shows_all=style.shows_all) for event in triage.events]
    shown = len(blocks)
    if not style.shows_all and sum(map(len, blocks)) > room:
        shown, used = 0, 1  # a line says how many more there are
        while shown < len(blocks) and used + len(blocks[shown]) <= room:
            used += len(blocks[shown])
            shown += 1
        shown = max(shown, 1)
    for line in head:
        out.line(line)
    for block in blocks[:shown]:
        for line in block:
            out.line(line)
    if shown < len(blocks):
        rest = triage.events[shown:]
        names = ", ".join(dict.fromkeys(event.heading for event in rest))
        out.line(f"{'AND MORE':{_HEADING}}{len(rest):,} ({names}): --all shows them")
    for line in tail:
        out.line(line)


def _head(out: ReportWriter, triage: Triage) -> list[str]:
    """What was looked at: a line for each place, of many places one."""
    lines: list[str] = []
    places = triage.overview.places
    for place in places[:_MOST_PLACES]:
        stop = "running" if place.stop == RUNNING else f"{place.stop} stop" if place.stop else ""
        nobody = f"{properties.META_PROPERTIES} is missing or damaged" if place.stop else place.what.replace("-", " ")
        about = ", ".join([*(whose(place) or [nobody]), *filter(None, [stop])])
        lines += wrapped(out.shown(f"{place.path}: {about}"), out.width)
    if len(places) > _MOST_PLACES:
        lines.append(f"and {counted(len(places) - _MOST_PLACES, 'more place')}")
    return lines


def _block(out: ReportWriter, event: TriageEvent, *, shows_all: bool) -> list[str]:
    """An event: its heading, its text beside it, and below it what to type."""
    more = "" if event.places == 1 else f" and {event.places - 1:,} more"
    text = event.message
    if event.path not in text:
        text = f"{event.path}{more}: {text}"
    elif more:
        text = f"{text} {counted(event.places, 'place')} in all."
    codes = f" ({', '.join(event.codes)})" if event.codes else ""
    lines = list(wrapped(out.shown(f"{text}{codes}"), out.width - _HEADING))
    if len(lines) > _MOST_TEXT and not shows_all:
        last, *_ = wrapped(" ".join(lines[_MOST_TEXT - 1 :]), out.width - _HEADING - len(_CUT))
        lines = [*lines[: _MOST_TEXT - 1], last + _CUT]
    color = _YELLOW if event.heading in _NOT_SO_BAD else _RED
    heading = out.colored(event.heading.upper(), color) + " " * (_HEADING - len(event.heading))
    block = [heading + lines[0], *(" " * _HEADING + line for line in lines[1:])]
    commands = event.commands if shows_all else [line for line in event.commands if not line.startswith("#")] or event.commands
    if len(commands) > _MOST_COMMANDS and not shows_all:  # what mends is worth more than where to look
        commands = [line for line in commands if not line.startswith("kdump check ")][:_MOST_COMMANDS]
    for command in commands:
        line = f"  {out.shown(command)}"
        if out.is_terminal and width_of(line) > out.width and _ABOUT in line:  # a command is never cut; what it says of itself is
            line, _, about = line.rpartition(_ABOUT)
            block += [f"  # {_STOPPED}:"] if _STOPPED in about else []
        block.append(line)
    return block


def _tail(out: ReportWriter, triage: Triage) -> list[str]:
    """What is not wrong: what fills it, what was not looked at, the verdict."""
    lines: list[str] = []

    def add(heading: str, text: str, color: str = "") -> None:
        shown = out.colored(heading, color) if color else heading
        for number, line in enumerate(wrapped(out.shown(text), out.width - _HEADING)):
            lines.append((" " * _HEADING if number else shown + " " * (_HEADING - len(heading))) + line)

    overview = triage.overview
    all_places = " ".join(out.shown(shell_word(place.path)) for place in overview.places)
    sums: dict[str, int] = {}
    for space in overview.spaces:
        sums[space.what] = sums.get(space.what, 0) + space.disk
    largest = sorted(sums.items(), key=lambda item: -item[1])[:3]
    if largest:
        what = ", ".join(f"{what} {size_text(size)}" for what, size in largest)
        foreign = next((space.largest for space in overview.spaces if space.largest), None)
        odd = f"; not Kafka's: {foreign}" if foreign else ""
        add("FILLS IT", f"{size_text(sum(sums.values()))} on the disk: {what}{odd}")
        if all_places and sum(sums.get(kind, 0) for kind in _MAY_GO) * _MUCH > sum(sums.values()):
            lines.append(f"  kdump info {all_places}   # each kind, topics by size")
    replicas = _replicas(triage)
    not_read = _not_read(triage) + (["whether replicas agree"] if replicas else [])
    if not_read:
        add("NOT LOOKED AT", "; ".join(not_read), _RED if overview.unseen else "")
    if replicas:
        lines.append(f"  kdump scan {' '.join(out.shown(shell_word(path)) for path in replicas)}")
    if triage.verdict.is_complete and all(event.heading == GOING for event in triage.events):
        add("NOTHING WRONG", "in what was read", _GREEN)
    count = counted(triage.summary.partitions, "partition")
    places = [place.path for place in overview.places]
    word = "Details" if triage.events else "What reads all" if triage.level == HEADERS else ""
    text = f"{count}, {triage.seconds:.1f} s. Verdict: {triage.verdict.text}. Exit status {triage.exit_code}."
    lines += wrapped(out.shown(text), out.width)
    if word and len(places) == 1:
        lines.append(out.shown(f"{word}: kdump check {shell_word(places[0])}"))  # a command is not broken
    return lines


def _replicas(triage: Triage) -> list[str]:
    """The places that have partitions in common, if there are any."""
    places: dict[tuple[str | None, int | None], list[str]] = {}
    for one in triage.overview.partitions:
        if one.topic is not None and one.state is None:
            places.setdefault((one.topic, one.partition), []).append(tree.parent(one.path))
    return list(dict.fromkeys(path for several in places.values() if len(several) > 1 for path in several))


def _not_read(triage: Triage) -> list[str]:
    """What was not looked at, and what looks at it."""
    summary, unseen = triage.summary, triage.overview.unseen
    parts = []
    if triage.left:
        size = size_text(sum(size for _, size in triage.left))
        parts.append(f"starts of {counted(len(triage.left), 'partition')}, which scan {size}")
    if triage.level == HEADERS:
        rest, size = summary.log_bytes - summary.read_bytes, size_text(summary.log_bytes)
        headers = f"headers of {size_text(rest)} of {size} of logs, " if rest > 0 else ""
        parts.append(f"{headers}checksums, records (--level deep)")
    parts[:0] = [f"{path}: it has none of the partitions that its checkpoints name" for path in triage.verdict.without_partitions]
    for one in unseen[:1]:
        parts.insert(0, f"{one.path}: {one.message}{f', and {len(unseen) - 1:,} more' if len(unseen) > 1 else ''}")
    return parts
