"""`kdump.where`: what became of a record, by all copies of its partition below some paths."""

from __future__ import annotations

import os
from contextlib import suppress

from kdump.binary.source import Source
from kdump.errors import Unreadable, UsageError
from kdump.formats import text_checkpoint, tree
from kdump.formats.partition_metadata import text_of, topic_id_of
from kdump.formats.record_selection import owners
from kdump.output.rows import fates
from kdump.output.rows.fates import Fate
from kdump.output.text.grep import gap_line
from kdump.reading.items import DAMAGED
from kdump.searching.copies import Copy, faults_in
from kdump.searching.fate import Occurrence, Verdict
from kdump.searching.file_search import FileSearch, FileSettings
from kdump.searching.grep import as_bytes
from kdump.searching.places import Places, is_served, may_be_log
from kdump.searching.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.pipeline.discovery import FileItem

    Path = str | os.PathLike[str]
    Partition = tuple[str, int]


_MAX_NAMES = 3  # of partitions that are there instead


class Whereabouts:
    """The answers about one offset, or all records of a key: a Fate each, lowest offset first.

    After the iteration, `not_read` says what could not be read, and `is_certain` whether the answers hold whatever that was.
    """

    def __init__(self, paths: Sequence[str], *, offset: tuple[str, int, int] | None = None, key: bytes | None = None) -> None:
        if not paths:
            raise UsageError("where needs a path")
        self._offset = offset
        self._key = key
        self._logs: dict[Partition, dict[tuple[str, str], list[FileItem]]] = {}
        self.not_read: list[str] = []
        self._odd_files: list[str] = []  # which may be logs, and have what is not elsewhere
        self.is_certain = True
        for path in paths:
            places = Places([path], is_proof=True)
            for found in places.unsearched:
                if found.code != "file-not-recognized":
                    self.not_read.append(f"{found.path}: {found.message}")
                elif may_be_log(found.path):
                    self._odd_files.append(f"{found.path} may be a log under another name")
            for item in places.logs:
                if item.topic is not None and item.partition is not None and item.kind == "log":
                    folder = os.path.dirname(item.path)
                    self._logs.setdefault((item.topic, item.partition), {}).setdefault((path, folder), []).append(item)
        folders = {folder for copies in self._logs.values() for _, folder in copies}
        for directory in sorted({tree.parent(folder) for folder in folders}):
            for name in (text_checkpoint.LOG_START_OFFSETS, text_checkpoint.CLEANER_OFFSETS):
                with suppress(Unreadable), Source(os.path.join(directory, name)) as source:  # which each copy says
                    self.not_read += faults_in(source, text_checkpoint.OFFSET_FIELDS)

    def __iter__(self) -> Iterator[Fate]:
        answers = self._of_offset(*self._offset) if self._offset is not None else self._of_key(self._key or b"")
        for fate in answers:
            self.is_certain &= fate.is_certain
            unread = list(dict.fromkeys(self.not_read + (self._odd_files if fate.answer not in fates.THERE else [])))
            if unread:  # another copy may say that it was truncated, or that it is there, too
                self.is_certain = False
                more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
                fate.evidence += f"{'; ' if fate.evidence else ''}not everything could be read: {unread[0]}{more}"
            yield fate

    def _of_offset(self, topic: str, partition: int, offset: int) -> list[Fate]:
        copies = self._copies((topic, partition))
        if not copies:
            self.is_certain = False
            return [_nowhere(topic, partition, offset, f"no log of this partition is below these paths{self._others}")]
        return [self._fate(copies, offset, None, None)]

    @property
    def _others(self) -> str:
        """The first partitions that are there instead, for who mistook a name."""
        names = [f"{topic}-{partition}" for topic, partition in sorted(self._logs)]
        more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
        return f", but of {', '.join(names[:_MAX_NAMES])}{more}" if names else ""

    def _of_key(self, key: bytes) -> Iterator[Fate]:
        found_any = False
        damaged: list[Copy] = []
        missing: list[dict[str, int]] = []
        for of_partition in sorted(self._logs):
            occurrences = self._occurrences(of_partition, key)
            offsets = sorted({one.offset for one in occurrences})
            positions: dict[str, set[int]] = {}
            for one in occurrences:
                positions.setdefault(one.path, set()).add(one.position)
            copies = self._copies(of_partition, offsets, positions)
            for offset in offsets:
                found_any = True
                fate = self._fate(copies, offset, key, occurrences)
                fate.key = _text(key)
                yield fate
            if not occurrences:
                damaged += [copy for copy in copies if copy.damaged]
                served = [copy for copy in copies if copy.served]
                whole = max(served, key=lambda copy: (copy.last_epoch, copy.log_end or 0), default=None)
                missing += [] if whole is None else whole.missing_sequences()
                self._note_unread(copies)
        if not found_any:
            topic, partition = next(iter(self._logs)) if len(self._logs) == 1 else (None, None)
            fate = _nowhere(topic, partition, None, "no copy has a record with this key")
            fate.key = _text(key)
            fate.missing_sequences = missing
            fate.damaged_on = list(dict.fromkeys(copy.path for copy in damaged))
            fate.damaged_in = list(dict.fromkeys(copy.place for copy in damaged))
            if damaged:
                self.is_certain = False
                fate.evidence += "; it may be in what is damaged"
            yield fate

    def _copies(
        self, of_partition: Partition, offsets: Sequence[int] = (), positions: dict[str, set[int]] | None = None
    ) -> list[Copy]:
        """All copies of a partition. They are looked into for these offsets, or the one of the question."""
        wanted = offsets if self._offset is None else [self._offset[2]]
        found = self._logs.get(of_partition, {})
        served = [path for (path, _), logs in found.items() if any(map(is_served, logs))]
        copies = [Copy(folder if served.count(path) > 1 else path, *of_partition, logs) for (path, folder), logs in found.items()]
        for copy in copies:
            copy.look(wanted, positions)
        self._note_unread(copies)
        return copies

    def _note_unread(self, copies: list[Copy]) -> None:
        """Note what could not be read of copies so far."""
        unread = [message for copy in copies for message in copy.not_read]
        self.not_read += [message for message in unread if message not in self.not_read]

    def _fate(self, copies: list[Copy], offset: int, key: bytes | None, occurrences: list[Occurrence] | None) -> Fate:
        first = copies[0]

        def occurrences_of(key: bytes) -> list[Occurrence]:
            return occurrences if occurrences is not None else self._occurrences((first.topic, first.partition), key)

        fate = Verdict(copies, offset, key, occurrences_of).fate()
        self._note_unread(copies)  # which looks into copies again for what transactions became
        ids = {topic_id: copy.path for copy in reversed(copies) if (topic_id := _topic_id(copy)) is not None}
        if len(ids) > 1:
            names = " and ".join(
                f"{text_of(topic_id)} on {path}" for topic_id, path in sorted(ids.items(), key=lambda one: one[1])
            )
            said = f"topics of several ids have this name, {names}: each had its own records"
            fate.evidence = "; ".join(filter(None, [said, fate.evidence]))
        return fate

    def _occurrences(self, of_partition: Partition, key: bytes) -> list[Occurrence]:
        """The records with a key in all copies of a partition."""
        found: list[Occurrence] = []
        for logs in self._logs.get(of_partition, {}).values():
            for item in logs:
                search = FileSearch(item, FileSettings(Query(key=key)))
                for hits in search.found():
                    records, owner_of = hits.part.records, owners(hits.part)
                    positions = hits.part.batches["position"]
                    for row, offset in zip(owner_of, records["offset"], strict=True):
                        found.append(Occurrence(offset, hits.status != DAMAGED, item.path, positions[row]))
                self.not_read += map(gap_line, search.result.not_read)
        return found


def where(record: str | None, *paths: Path, key: str | bytes | None = None) -> Whereabouts:
    """What became of a record: `record` is TOPIC-PARTITION@OFFSET, or None if a `key` is given.

    Paths are log directories, partition directories or directories above them; each is a copy. Iteration yields a Fate for the
    offset, or for each offset at which the key was found. Raises UsageError.
    """
    given = [os.fspath(path) for path in paths]
    if (record is None) == (key is None):
        raise UsageError("where needs TOPIC-PARTITION@OFFSET or a key, and not both")
    if key is not None:
        return Whereabouts(given, key=as_bytes(key))
    return Whereabouts(given, offset=parsed(record or ""))


def parsed(text: str) -> tuple[str, int, int]:
    """The topic, partition and offset of TOPIC-PARTITION@OFFSET. Raises UsageError."""
    name, at, offset = text.rpartition("@")
    topic, dash, partition = name.rpartition("-")
    numbers = [number for number in (partition, offset) if number.isascii() and number.isdecimal() and len(number) < 20]
    if not at or not dash or not topic or len(numbers) != 2:
        raise UsageError(f"{text}: write TOPIC-PARTITION@OFFSET, such as orders-3@4711", remedy="or look for a key with --key")
    return topic, int(partition), int(offset)


def _topic_id(copy: Copy) -> bytes | None:
    """The topic id beside a copy, for a remark; None if it cannot be read."""
    try:
        return topic_id_of(copy.folder)
    except Unreadable:
        return None


def _nowhere(topic: str | None, partition: int | None, offset: int | None, evidence: str) -> Fate:
    return Fate(
        topic=topic,
        partition=partition,
        offset=offset,
        key=None,
        answer=fates.NOT_FOUND,
        copies=[],
        damaged_on=[],
        leader_epoch=None,
        superseded_by=None,
        tombstone=None,
        log_start=None,
        log_end=None,
        bytes=None,
        missing_sequences=[],
        also=[],
        evidence=evidence,
    )


def _text(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")
