"""Searches one file, and sums up how much of it was read."""

from __future__ import annotations

from kdump.binary.tolerant_source import TolerantSource
from kdump.errors import KdumpError, Unreadable
from kdump.formats import foreign
from kdump.formats.record_selection import selected
from kdump.output.rows.hits import NotRead, SearchedFile
from kdump.reading.items import DAMAGED, SALVAGED
from kdump.searching.log_search import Found, Gap, LogSearch
from kdump.searching.partitioner import partition_of
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kdump.pipeline.discovery import FileItem
    from kdump.searching.decoding import ConditionDecoder, Decoding
    from kdump.searching.json_path import KnownFields
    from kdump.searching.query import Query


_MAX_ROWS = 2048  # that are shown at once


class FileSettings(Declared):
    """How a file is searched: `context` records around each match, up to `limit` matches, with its digest if it `digests`.

    `partitions` is the number of partitions of the topic, for the one that each key belongs in; `names` are shown for paths.
    `progress` receives how many bytes of the file were searched; `decoding` says how keys and values are decoded for conditions.
    """

    query: Query
    context: int = 0
    limit: int | None = None
    digests: bool = False
    partitions: int | None = None
    names: Mapping[str, str] = {}
    progress: Callable[[int], None] | None = None
    decoding: Decoding | None = None


class FileResult(Declared):
    """What is known of a file after its search."""

    file: SearchedFile
    not_read: list[NotRead]
    damaged_hits: int = 0
    salvaged_hits: int = 0
    misplaced: int = 0
    is_whole: bool = True
    not_read_bytes: int = 0
    known_fields: KnownFields | None = None


class FileSearch:
    """The search of one file: `found` yields what matches, and `result` is complete after it."""

    def __init__(self, item: FileItem, settings: FileSettings) -> None:
        self._item = item
        self._settings = settings
        self._name = settings.names.get(item.path, item.path)
        self._gaps: list[Gap] = []
        self._log: LogSearch | None = None
        self._decoder: ConditionDecoder | None = None
        self._size = item.size
        self._sha256: str | None = None
        self._hits = self._damaged_hits = self._salvaged_hits = self._misplaced = 0
        self._is_whole = True

    def found(self) -> Iterator[Found]:
        """What matches, without records that do not; expected partitions are counted."""
        item, settings = self._item, self._settings
        try:
            with TolerantSource(item.path) as source:
                source.path = self._name
                self._size = source.size
                foreign.require_kafka(source)
                if settings.digests:
                    from kdump.searching.digests import digest, identity

                    before = identity(source)
                    self._sha256 = digest(source)
                if settings.decoding is not None and settings.query.needs_decoding:
                    self._decoder = settings.decoding.of_conditions(item)
                self._log = LogSearch(
                    source,
                    settings.query,
                    partition=item.partition,
                    base_offset=item.base_offset or 0,
                    walks_all=bool(settings.context),
                    progress=settings.progress,
                    decoder=self._decoder,
                )
                yield from self._limited(self._log)
                if settings.digests and identity(source) != before:
                    self._gaps.append(Gap(0, self._size, "file-changed", "was changed while it was read"))
        except KdumpError as error:
            code = error.code if isinstance(error, Unreadable) else "file-not-examined"
            self._gaps.append(Gap(0, self._size, code, error.message))

    def _limited(self, log: LogSearch) -> Iterator[Found]:
        settings = self._settings
        left = settings.limit
        parts: Iterable[Found] = log.found()
        if settings.context:
            from kdump.searching.context import with_context

            parts = with_context(parts, settings.context)
        for part in parts:
            hits = [at for at, matched in enumerate(part.matched) if matched]
            if left is not None and len(hits) >= left:
                end = hits[left - 1] + 1
                yield self._only(Found(part.part, part.status, part.rows[:end], part.matched[:end]))
                self._is_whole = False
                return
            left = None if left is None else left - len(hits)
            for start in range(0, len(part.rows), _MAX_ROWS):
                end = start + _MAX_ROWS
                yield self._only(Found(part.part, part.status, part.rows[start:end], part.matched[start:end]))

    def _only(self, found: Found) -> Found:
        """The same without other records. Counts the matches."""
        part, _ = selected(found.part, found.rows, -1)
        columns = (
            part.records["key"],
            part.statuses(found.status, DAMAGED),
            part.spread(part.batches["is_control"]),
            found.matched,
        )
        for key, status, is_control, matched in zip(*columns, strict=True):
            if matched:
                self._hits += 1
                self._damaged_hits += status == DAMAGED
                self._salvaged_hits += status == SALVAGED
                self._misplaced += not is_control and is_misplaced(key, self._item.partition, self._settings.partitions)
        return Found(part, found.status, list(range(len(found.rows))), found.matched)

    @property
    def result(self) -> FileResult:
        """What is known of the file, after `found` has ended."""
        item, log = self._item, self._log
        gaps = self._gaps + ([] if log is None else log.gaps)
        row = SearchedFile(
            file=self._name,
            broker=item.broker,
            topic=item.topic,
            partition=item.partition,
            state=item.state,
            size=self._size,
            batches=log.batches if log else 0,
            records=log.records if log else 0,
            claimed_records=log.claimed_records if log else 0,
            first_offset=log.first_offset if log else None,
            last_offset=log.last_offset if log else None,
            hits=self._hits,
            not_read=len(gaps),
            sha256=self._sha256,
        )
        not_read = [NotRead(self._name, gap.start, gap.end, gap.offset, gap.next_offset, gap.code, gap.message) for gap in gaps]
        if self._decoder is not None:
            for path, problems in self._decoder.problems.items():
                message = f"schemas may be missing: {problems[0]}"
                not_read.append(NotRead(path, None, None, None, None, "schemas-incomplete", message))
        return FileResult(
            row,
            not_read,
            damaged_hits=self._damaged_hits,
            salvaged_hits=self._salvaged_hits,
            misplaced=self._misplaced,
            is_whole=self._is_whole,
            not_read_bytes=_covered_bytes(gaps),
            known_fields=None if log is None else log.known_fields,
        )


def is_misplaced(key: object, partition: int | None, partitions: int | None) -> bool:
    """Whether a key belongs in another partition, if their number is known. One that is null belongs in any."""
    if partitions is None or partition is None or not isinstance(key, bytes):
        return False
    return partition_of(key, partitions) != partition


def _covered_bytes(gaps: list[Gap]) -> int:
    """How many bytes lie in at least one of these ranges."""
    covered = end = 0
    for gap in sorted(gaps, key=lambda gap: gap.start):
        covered += max(0, gap.end - max(gap.start, end))
        end = max(end, gap.end)
    return covered
