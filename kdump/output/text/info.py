"""An overview as a screen for people: whose it is, what fills it, what is in it, what is odd, what to type next."""

from __future__ import annotations

import os

from kdump.binary.codecs import CODECS, NONE
from kdump.checks.settings import FULL
from kdump.checks.wording import counted
from kdump.output.text.aligned import write_table
from kdump.output.text.sizes import size_text
from kdump.output.text.steps import Steps, shell_word
from kdump.output.text.writer import ReportWriter
from kdump.overview.groups import STATES
from kdump.overview.row import CLEAN, FILE, LOG_DIRECTORY, PARTITION, RUNNING, UNCLEAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.output.text.style import ReportStyle
    from kdump.overview.overview import Overview
    from kdump.overview.row import Group, OpenTransaction, PartitionSum, Place, Space, TopicSum

_MOST_TOPICS = 20
_MOST_LINES = 5
_RED, _YELLOW = "31", "33"
_DAY_MS = 86_400_000
_WHAT = {LOG_DIRECTORY: "log directory", PARTITION: "partition", FILE: "file"}
_STOPS = {
    CLEAN: "stopped cleanly",
    UNCLEAN: "there is no .kafka_cleanshutdown: a broker is running on it, or its stop was unclean",
    RUNNING: "a broker is running on it",
}


def write_overview(overview: Overview, write: Callable[[str], None], style: ReportStyle) -> None:
    """Write one screen for each place, then what could not be seen, and the commands to type next."""
    out = ReportWriter(write, style)
    steps = Steps()
    for number, place in enumerate(overview.places):
        if number:
            out.line()
        _write_place(out, overview, place)
        _add_steps(steps, overview, place)
    if not overview.places:
        out.line("There is nothing here.")
    held = {place.path for place in overview.places}
    for path in dict.fromkeys(space.path for space in overview.spaces if space.path not in held):
        out.line()
        out.wrapped(out.shown(f"{path}: what is in it besides"))
        _write_space(out, [space for space in overview.spaces if space.path == path])
    for unseen in overview.unseen[:_MOST_LINES]:
        out.wrapped(out.colored("not seen", _RED) + out.shown(f"  {unseen.path}: {unseen.message}"))
    if len(overview.unseen) > _MOST_LINES:
        out.line(f"and {len(overview.unseen) - _MOST_LINES:,} more; --output ndjson lists all.")
    if steps:
        out.line()
        out.line("Next")
        steps.write(out)
    summary = overview.summary
    read = _read_text(summary.read_bytes, summary.log_bytes, is_full=overview.level == FULL)
    out.line()
    out.wrapped(f"{read} {overview.seconds:.1f} s. Exit status {summary.exit_code}.")


def _read_text(read: int, size: int, *, is_full: bool) -> str:
    if is_full:
        return f"All batches were read with their checksums: {size_text(size)} of logs."
    return f"Headers were read, without checksums: of batches that hold {size_text(read)} of {size_text(size)} of logs." + (
        " The rest was not looked at." if read < size else ""
    )


def _write_place(out: ReportWriter, overview: Overview, place: Place) -> None:
    partitions = _partitions_of(overview, place)
    spaces = [space for space in overview.spaces if space.path == place.path]
    about = ", ".join([_WHAT[place.what], *whose(place)])
    out.wrapped(out.shown(f"{place.path}: {about}"))
    size, disk = (sum(getattr(space, name) for space in spaces) for name in ("size", "disk"))
    what = ""
    if place.what == LOG_DIRECTORY:
        topics = sum(topic.path == place.path for topic in overview.topics)
        what = f"{counted(len(partitions), 'partition directory', 'partition directories')}, {counted(topics, 'topic')}, "
    written = f" Written by {place.written_by} (a guess)." if place.written_by else ""
    stop = f" {_STOPS[place.stop][0].upper()}{_STOPS[place.stop][1:]}." if place.stop and place.what != FILE else ""
    out.wrapped(f"{what}{size_text(disk)} on the disk, {size_text(size)} in sizes of files.{written}{stop}")
    if place.what != FILE:
        out.line()
        _write_space(out, spaces)
    if place.what == LOG_DIRECTORY:
        _write_topics(out, [topic for topic in overview.topics if topic.path == place.path])
    else:
        for one in partitions:
            out.line()
            _write_partition(out, one)
    paths = {one.path for one in partitions}
    _write_transactions(out, [one for one in overview.transactions if one.path in paths])
    _write_groups(out, [group for group in overview.groups if group.path in paths])
    _write_damage(out, partitions, is_full=overview.level == FULL)


def whose(place: Place) -> list[str]:
    """Whose a place is, as far as its files say."""
    broker, cluster = f"broker {place.broker}", f"cluster {place.cluster}"
    return [*([broker] if place.broker else []), *([cluster] if place.cluster else []), *filter(None, [place.mode])]


def _partitions_of(overview: Overview, place: Place) -> list[PartitionSum]:
    if place.what != LOG_DIRECTORY:
        return [one for one in overview.partitions if one.path == place.path]
    return [one for one in overview.partitions if os.path.dirname(one.path.rstrip("/")) == place.path.rstrip("/")]


def _write_space(out: ReportWriter, spaces: Sequence[Space]) -> None:
    rows = [
        (
            space.what,
            size_text(space.disk),
            size_text(space.size),
            f"{space.files:,}" if space.files else "-",
            space.largest or "-",
        )
        for space in spaces
    ]
    total = (sum(space.disk for space in spaces), sum(space.size for space in spaces), sum(space.files for space in spaces))
    rows.append(("in all, as du says", size_text(total[0]), size_text(total[1]), f"{total[2]:,}", "-"))
    headings = ("what fills it", "on disk", "size", "files", "largest")
    write_table(out, headings, rows, right=headings[1:4], expendable=("largest", "files", "size"))


def _write_topics(out: ReportWriter, topics: Sequence[TopicSum]) -> None:
    if not topics:
        return
    out.line()
    headings = ("topic", "parts", "size", "offsets", "oldest", "newest", "codec", "producers", "note")
    rows = [
        (
            topic.topic,
            f"{topic.partitions:,}",
            size_text(topic.size),
            "?" if topic.offsets is None else f"{topic.offsets:,}",
            _minute(topic.oldest_timestamp),
            _minute(topic.newest_timestamp),
            _codec(topic.codec, topic.codec_share, topic.saving),
            f"{topic.producers:,}" if topic.producers else "-",
            _note(topic),
        )
        for topic in topics[:_MOST_TOPICS]
    ]
    write_table(out, headings, rows, right=("parts", "size", "offsets", "producers"), expendable=("producers", "oldest", "codec"))
    if len(topics) > _MOST_TOPICS:
        rest = topics[_MOST_TOPICS:]
        out.line(f"and {counted(len(rest), 'more topic')}, {size_text(sum(topic.size for topic in rest))}")


def _note(topic: TopicSum) -> str:
    notes = ["damage"] if topic.partitions_broken else []
    notes += [f"{topic.open_transactions:,} open txn"] if topic.open_transactions else []
    notes += ["future time"] if _is_future(topic.newest_timestamp) else []
    return ", ".join(notes) or "-"


def _is_future(timestamp: int | None) -> bool:
    from kdump.checks.settings import current_time

    return timestamp is not None and timestamp > current_time() + _DAY_MS


def _codec(codec: str | None, share: float | None, saving: float | None) -> str:
    if codec is None or share is None:
        return "-"
    part = "" if share > 0.995 else f" {share * 100:.0f} %"
    return f"{codec}{part}" + ("" if saving is None or codec == CODECS[NONE] else f" {saving:.1f}x")


def _write_partition(out: ReportWriter, one: PartitionSum) -> None:
    first = "?" if one.first_offset is None else f"{one.first_offset:,}"
    if one.end_offset is not None and one.end_offset == one.first_offset:
        offsets = f"none; the next is {first}"
    else:
        offsets = f"{first} to {'?' if one.end_offset is None else f'{one.end_offset - 1:,}'}"
    whole = "" if one.is_read_whole else " of those that were read"
    records = "" if one.records is None else f" with {counted(one.records, 'record')}"
    out.labelled("offsets", f"{offsets}, in {counted(one.segments, 'segment')} of {size_text(one.size)}")
    if one.batches:
        largest = f"the largest {size_text(one.largest_batch)}"
        out.labelled("batches", f"{counted(one.batches, 'batch', 'batches')}{records}{whole or ''}, {largest}")
        out.labelled("times", _times(one))
        codecs = ", ".join(f"{codec} {size_text(size)}" for codec, size in one.codecs.items())
        saving = "" if one.saving is None else f"; {one.saving:.1f} times as large without compression"
        magics = ", ".join(map(str, one.magics))
        out.labelled("format", f"magic {magics}; {codecs}{saving}")
    if one.producers:
        out.labelled("writers", f"{counted(one.producers, 'producer')} with an id")


def _times(one: PartitionSum) -> str:
    if one.oldest_timestamp is None or one.newest_timestamp is None:
        return "none"
    span = max(one.newest_timestamp - one.oldest_timestamp, 0)
    rate = ""
    if one.records and span and one.is_read_whole:
        second = one.records * 1000 / span
        rate = f", {second:,.1f} records a second" if second >= 1 else f", {second * 3600:,.1f} records an hour"
    future = "; the newest is in the future" if _is_future(one.newest_timestamp) else ""
    return f"{_minute(one.oldest_timestamp)} to {_minute(one.newest_timestamp)} UTC{rate}{future}"


def _write_transactions(out: ReportWriter, transactions: Sequence[OpenTransaction]) -> None:
    if not transactions:
        return
    out.line()
    for one in _worst_first(transactions)[:_MOST_LINES]:
        word = out.colored("hanging", _RED) if one.is_hanging else "open"
        name = os.path.basename(one.path.rstrip("/"))
        since = "" if one.timestamp is None else f", since {_minute(one.timestamp)}"
        goes_on = "" if one.open_for_ms is None else f"; the log goes on for {duration(one.open_for_ms)}"
        doubt = "" if one.is_certain else "; a marker may be in what was not read"
        text = f"transaction of producer {one.producer_id:,} in {name}, from offset {one.first_offset:,}{since}{goes_on}{doubt}"
        out.wrapped(f"{word} {out.shown(text)}")
    if len(transactions) > _MOST_LINES:
        out.line(f"and {counted(len(transactions) - _MOST_LINES, 'more open transaction')}")


def _worst_first(transactions: Sequence[OpenTransaction]) -> list[OpenTransaction]:
    return sorted(transactions, key=lambda one: (not one.is_hanging, -(one.open_for_ms or 0)))


def duration(elapsed_ms: int) -> str:
    """A length of time, in the two largest units."""
    seconds = elapsed_ms // 1000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if days > 1:
        return f"{days:,} days"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else f"{seconds} s"


def _write_groups(out: ReportWriter, groups: Sequence[Group]) -> None:
    if not groups:
        return
    out.line()
    parts, states = [], [group.state for group in groups]
    for state in STATES:
        names = [group.group for group in groups if group.state == state]
        if names:
            more = f" and {len(names) - _MOST_LINES:,} more" if len(names) > _MOST_LINES else ""
            parts.append(f"{len(names):,} {state.replace('-', ' ')} ({', '.join(map(out.shown, names[:_MOST_LINES]))}{more})")
    rest = "; --output ndjson lists all" if max(map(states.count, states)) > _MOST_LINES else ""
    out.wrapped(f"{counted(len(groups), 'group')}: {'; '.join(parts)}{rest}")


def _write_damage(out: ReportWriter, partitions: Sequence[PartitionSum], *, is_full: bool) -> None:
    broken = [one for one in partitions if one.broken_at is not None]
    out.line()
    if broken:
        size = sum(one.bytes_damaged or 0 for one in broken)  # none where batches are only out of place
        where = f"{f'{size_text(size)} in ' if size else ''}{counted(len(broken), 'partition')}, first at {broken[0].broken_at}"
        out.wrapped(out.colored("damage", _RED) + out.shown(f": {where}"))
    elif is_full:
        out.wrapped("damage: none in the batches; `kdump check` also looks at records, indexes and other files")
    else:
        out.wrapped("damage: none was met, but only some headers were read; `kdump check` looks for it")


def _add_steps(steps: Steps, overview: Overview, place: Place) -> None:
    """Add what to type next for a place, what matters most first."""
    word = shell_word(place.path)
    partitions = _partitions_of(overview, place)
    for one in [one for one in partitions if one.broken_at is not None][:_MOST_LINES]:
        steps.look(f"kdump check {shell_word(one.path)}", "what is damaged, and what to do")
    paths = {one.path for one in partitions}
    worst = _worst_first(overview.transactions)
    open_in = [one.path for one in worst if one.path in paths and (one.is_hanging or not one.is_certain)]
    for path in list(dict.fromkeys(open_in))[:_MOST_LINES]:
        steps.look(f"kdump check {shell_word(path)}", "whether a transaction hangs, and how to end it")
    committed = [group for group in overview.groups if group.path in paths and group.committed]
    if committed:
        most = max(committed, key=lambda group: group.committed)
        which = shell_word(f"key.group={most.group}")
        steps.look(
            f"kdump grep --where {which} --output table {shell_word(most.path)}", "which offsets a group committed, and when"
        )
    if place.what == LOG_DIRECTORY:
        steps.look(f"kdump triage {word}", "will it start, what is lost, what to do first")
    foreign = next((space.largest for space in overview.spaces if space.path == place.path and space.largest), None)
    if foreign not in (None, place.path):
        steps.look(f"ls -la {shell_word(foreign)}", "not Kafka's")
    if overview.level != FULL and not all(one.is_read_whole for one in partitions):
        steps.look(f"kdump info --level full {word}", "all batches: records, codecs, damage")
    elif place.what != LOG_DIRECTORY and not open_in and not any(one.broken_at for one in partitions):
        steps.look(f"kdump check {word}", "whether all of it is sound")


def _minute(timestamp: int | None) -> str:
    """A time in UTC to the minute; a number where no calendar has it."""
    if timestamp is None:
        return "-"
    from kdump.output.rows.layout import time_text

    text = time_text(timestamp)
    return text[:16] if "-" in text[1:] else text
