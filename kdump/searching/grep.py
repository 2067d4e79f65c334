"""`kdump.grep`: finds records by their contents in files, partitions, log directories and fleets, with a verdict."""

from __future__ import annotations

import os
import time

from kdump import exit_codes
from kdump.binary.given_bytes import of_hexadecimal, of_text
from kdump.errors import UsageError
from kdump.formats.ranges import Range
from kdump.formats.record_selection import selected
from kdump.output.rows import listing
from kdump.output.rows.hits import ABSENT, FOUND, NOT_PROVEN, Hit, NotRead, SearchVerdict
from kdump.reading.items import DAMAGED
from kdump.searching.decoding import Decoding, schemas_of
from kdump.searching.fields import DEFAULT_FIELDS, FIXED, HEX, KINDS, PROOF_FIELDS
from kdump.searching.file_search import FileResult, FileSearch, FileSettings
from kdump.searching.log_search import Found
from kdump.searching.partitioner import partition_of
from kdump.searching.places import Places
from kdump.searching.query import Query
from kdump.tables import Table
from kdump.workers.cores import jobs_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kdump.decoding.decoded import Decoded
    from kdump.decoding.log_decoder import LogDecoder
    from kdump.output.rows.hits import SearchedFile
    from kdump.pipeline.discovery import FileItem
    from kdump.schemas.shapes import NotedShapes
    from kdump.searching.schema_files import SchemaFiles

    Path = str | os.PathLike[str]

_MIN_PARALLEL_BYTES = 64 << 20  # that are worth several processes


class Search:
    """A search through all logs below some paths. Iteration yields a Hit for each record that matches.

    After it has ended, `verdict` says what was found and how much was read, `not_read` what was not read intact, and `files` how
    much of each file was searched. Keys and values are decoded with `decoding`; without it, they are as they are. `jobs` is the
    number of processes, 0 for as many as the files are worth.

    Raises UsageError where a path is a pattern that nothing fits, and if it cannot be told which schemas are meant.
    """

    def __init__(
        self,
        paths: Sequence[str],
        query: Query,
        *,
        proves_absence: bool = False,
        partition_count: int | None = None,
        context: int = 0,
        limit: int | None = None,
        stops_at_hit: bool = False,
        jobs: int = 1,
        names: Mapping[str, str] | None = None,
        progress: Callable[[int, int], None] | None = None,
        decoding: Decoding | None = None,
    ) -> None:
        if proves_absence and (limit is not None or stops_at_hit or partition_count is not None or not query.range.is_open):
            raise UsageError("the proof of an absence reads everything", remedy="leave out ranges, limits and --partition-count")
        self.query = query
        self.proves_absence = proves_absence
        self.partition_count = partition_count
        self.files: list[SearchedFile] = []
        self.not_read: list[NotRead] = []
        self._limit = limit
        self._stops_at_hit = stops_at_hit
        self._context = context
        self._jobs = jobs
        self._names = dict(names or {})
        self._progress = progress
        self._bytes = 0
        self._done = 0
        self._started = time.monotonic()
        self._hits = self._damaged_hits = self._salvaged_hits = self._misplaced = self._not_read_bytes = 0
        self._is_whole = True
        self._known_fields = query.known_fields()
        self._said: set[tuple[str, str]] = set()
        only = partition_of(query.key, partition_count) if partition_count and query.key is not None else None
        self.only_partition = only
        self.places = Places(paths, is_proof=proves_absence, partition=only)
        self.not_read += [
            NotRead(found.path, None, None, None, None, found.code, found.message) for found in self.places.unsearched
        ]
        if partition_count is not None:
            self._refuse_too_few(partition_count)
        self.decoding = decoding
        self._hit_decoder: tuple[str, LogDecoder] | None = None
        self._hit_shapes: tuple[NotedShapes, NotedShapes] | None = None
        if decoding is None and query.decoded_parts:
            raise UsageError("a pattern in decoded keys and values needs them to be decoded", remedy="leave out --decode none")
        if decoding is not None:
            decoding.require(self.places.logs)
            if decoding.command is not None:
                self._jobs = 1
        self.schemas: SchemaFiles | None = None
        if proves_absence and decoding is not None and query.needs_decoding:
            from kdump.searching.schema_files import SchemaFiles

            self.schemas = SchemaFiles(*schemas_of(decoding, self.places.logs))
            self.not_read += self.schemas.not_read

    def _refuse_too_few(self, count: int) -> None:
        """Raise UsageError if the topic has more partitions than it is said to have."""
        known = [*(item.partition or 0 for item in self.places.logs), *(number for _, number in self.places.other_partitions)]
        if known and max(known) >= count:
            raise UsageError(
                f"--partition-count {count}: there is a partition {max(known)}", remedy="state how many partitions the topic has"
            )

    def name_of(self, item: FileItem) -> str:
        """The name that is shown for a file."""
        return self._names.get(item.path, item.path)

    def found(self) -> Iterator[tuple[FileItem, Found]]:
        """What matches, file by file."""
        try:
            yield from self._found()
        finally:
            if self.decoding is not None:
                self.decoding.close()
        if self.schemas is not None:
            self.not_read += self.schemas.changed()

    def _found(self) -> Iterator[tuple[FileItem, Found]]:
        limit = 1 if self._stops_at_hit else self._limit
        settings = FileSettings(
            self.query,
            context=self._context,
            limit=limit,
            digests=self.proves_absence,
            partitions=self.partition_count,
            names=self._names,
            progress=None if self._progress is None else self._report,
            decoding=self.decoding,
        )
        logs = self.places.logs
        self._bytes = sum(item.size for item in logs)
        jobs = self._jobs or (jobs_here() if self._bytes >= _MIN_PARALLEL_BYTES else 1)
        if jobs > 1 and self._limit is None and len(logs) > 1:
            from kdump.searching.parallel import searched_by_processes

            for item, result in searched_by_processes(logs, settings, jobs):
                if isinstance(result, FileResult):
                    self._take(result)
                else:
                    yield item, result
            return
        for item in logs:
            if self._limit is not None and self._hits >= self._limit:
                return
            if self._limit is not None and not self._stops_at_hit:
                settings.limit = self._limit - self._hits
            search = FileSearch(item, settings)
            for found in search.found():
                yield item, found
            self._take(search.result)

    def _report(self, of_file: int) -> None:
        assert self._progress is not None
        self._progress(self._done + of_file, self._bytes)

    def _take(self, result: FileResult) -> None:
        self._done += result.file.size
        self.files.append(result.file)
        for gap in result.not_read:
            if gap.start is None and (gap.file, gap.message) in self._said:
                continue  # about a registry's topic that is beside several files
            if gap.start is None:
                self._said.add((gap.file, gap.message))
            self.not_read.append(gap)
        self._hits += result.file.hits
        self._damaged_hits += result.damaged_hits
        self._salvaged_hits += result.salvaged_hits
        self._misplaced += result.misplaced
        self._not_read_bytes += result.not_read_bytes
        self._is_whole = self._is_whole and result.is_whole
        if self._known_fields is not None and result.known_fields is not None:
            self._known_fields.add(result.known_fields)

    def __iter__(self) -> Iterator[Hit]:
        for item, found in self.found():
            for table in self.hits(item, found):
                yield from table

    def hits(self, item: FileItem, found: Found) -> Iterator[Table[Hit]]:
        """What was found in a file as rows, with decoded keys and values, in tables of bounded size."""
        decoder = self._decoder_of_hits(item)
        if decoder is None:
            yield self._table(item, found, None)
            return
        for first, end, decoded in decoder.pieces(found.part):
            piece = found
            if end - first < len(found.part.records):
                part, _ = selected(found.part, range(first, end), -1)
                piece = Found(part, found.status, list(range(end - first)), found.matched[first:end])
            yield self._table(item, piece, decoded)

    def _decoder_of_hits(self, item: FileItem) -> LogDecoder | None:
        if self.decoding is None:
            return None
        if self._hit_decoder is None or self._hit_decoder[0] != item.path:
            if self._hit_shapes is not None and self._hit_decoder is not None:
                self._hit_decoder[1].give_shapes(*self._hit_shapes)
            self._hit_decoder = item.path, self.decoding.of_hits(item)
        return self._hit_decoder[1]

    def note_shapes(self, keys: NotedShapes, values: NotedShapes) -> None:
        """Note the shapes of decoded keys and values of matches here, until `end_shapes`."""
        self._hit_shapes = keys, values

    def end_shapes(self) -> None:
        """Note the shapes of the last file with a match."""
        if self._hit_shapes is not None and self._hit_decoder is not None:
            self._hit_decoder[1].give_shapes(*self._hit_shapes)

    def _table(self, item: FileItem, found: Found, decoded: Sequence[Decoded] | None) -> Table[Hit]:
        part = found.part
        statuses, positions = part.statuses(found.status, DAMAGED), part.spread(part.batches["position"])
        table = listing.records(part.records, statuses, positions, self.name_of(item), decoded)
        count = len(positions)
        is_control = part.spread(part.batches["is_control"])
        columns = {
            **table.columns,
            "is_control": [bool(control) for control in is_control],
            "broker": [item.broker] * count,
            "topic": [item.topic] * count,
            "partition": [item.partition] * count,
            "expected_partition": [
                None if control else self._expected(key) for control, key in zip(is_control, part.records["key"], strict=True)
            ],
            "matched": found.matched,
        }
        return Table(Hit, columns)

    def _expected(self, key: object) -> int | None:
        return partition_of(key, self.partition_count) if self.partition_count and isinstance(key, bytes) else None

    @property
    def verdict(self) -> SearchVerdict:
        """The verdict, once the iteration has ended."""
        unknown = [] if self._known_fields is None or self._hits else self._known_fields.unknown(self.query.paths)
        is_proven = self.files and self._is_whole and not (self.not_read or self.places.left_out or unknown)
        word = FOUND if self._hits else ABSENT if is_proven else NOT_PROVEN
        code = exit_codes.CLEAN if self._hits else exit_codes.FINDINGS
        if self.not_read or word == NOT_PROVEN:
            code = exit_codes.NOT_EXAMINED
        return SearchVerdict(
            verdict=word,
            hits=self._hits,
            damaged_hits=self._damaged_hits,
            salvaged_hits=self._salvaged_hits,
            misplaced=self._misplaced,
            files=len(self.files),
            bytes=sum(file.size for file in self.files),
            batches=sum(file.batches for file in self.files),
            records=sum(file.records for file in self.files),
            claimed_records=sum(file.claimed_records for file in self.files),
            not_read=len(self.not_read),
            not_read_bytes=self._not_read_bytes,
            left_out=len(self.places.left_out),
            unknown_fields=unknown,
            is_whole=self._is_whole,
            certificate=None,
            seconds=round(time.monotonic() - self._started, 3),
            exit_code=code,
        )


def grep(
    pattern: str | bytes | None,
    *paths: Path,
    kind: str = FIXED,
    ignore_case: bool = False,
    fields: Sequence[str] | None = None,
    key: str | bytes | None = None,
    headers: Mapping[str, str | bytes | None] | None = None,
    where: Sequence[str] = (),
    tombstones: bool = False,
    producer: int | None = None,
    from_offset: int | None = None,
    to_offset: int | None = None,
    from_time: int | None = None,
    to_time: int | None = None,
    partition_count: int | None = None,
    limit: int | None = None,
    prove_absent: bool = False,
    decode: bool = True,
    key_decoder: str = "",
    value_decoder: str = "",
    schemas: Path | None = None,
    decoder_command: str | None = None,
) -> Search:
    """Search records in logs, partition directories, log directories and fleets.

    All conditions must hold. `pattern` is bytes or text, or None; `kind` is `fixed`, `regex` (of Python, on bytes) or `hex`.
    `fields` are those in which it may stand: key, value, header (values of headers), header-name, decoded-key, decoded-value; by
    default the first three, or four with `prove_absent`. Times are milliseconds. The others are as the options of `kdump grep`.

    Keys and values are decoded for `where`, for decoded fields, and in Hit rows: by the `_schemas-0` beside the data, or as
    `key_decoder`, `value_decoder`, `schemas` and `decoder_command` say. With `decode=False`, nothing is decoded.

    The result is iterated once for Hit rows, then asked for its `verdict`. Raises UsageError for what cannot be asked.
    """
    if not paths:
        raise UsageError("grep needs a path")
    if kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r} of pattern", remedy=f"kinds are {', '.join(KINDS)}")
    data = None if pattern is None else of_hexadecimal(pattern) if kind == HEX and isinstance(pattern, str) else as_bytes(pattern)
    is_bare = data is None and key is None and producer is None and not (headers or where or tombstones)
    query = Query(
        data,
        kind,
        ignores_case=ignore_case,
        fields=fields or (PROOF_FIELDS if prove_absent else DEFAULT_FIELDS),
        key=None if key is None else as_bytes(key),
        headers=[(as_bytes(name), None if value is None else as_bytes(value)) for name, value in (headers or {}).items()],
        json=where,
        is_tombstone=tombstones,
        producer_id=producer,
        range=Range(from_offset, to_offset, from_time, to_time),
        misplaced_of=partition_count if is_bare else None,
    )
    decoding = Decoding(
        key=key_decoder,
        value=value_decoder,
        schemas=None if schemas is None else os.fspath(schemas),
        command=decoder_command,
    )
    if decoding.is_asked_for and not decode:
        raise UsageError("decoders and schemas are of no use if nothing is decoded")
    return Search(
        [os.fspath(path) for path in paths],
        query,
        proves_absence=prove_absent,
        partition_count=partition_count,
        limit=limit,
        decoding=decoding if decode else None,
    )


def as_bytes(text: str | bytes) -> bytes:
    """Text as UTF-8; bytes of a command line that are not UTF-8 as they are."""
    return text if isinstance(text, bytes) else of_text(text)
