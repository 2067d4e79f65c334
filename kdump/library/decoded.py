"""Decodes the keys and values of a log for the library, as a search decodes those that match."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kdump.library.rows import DecodedRecord, Record
from kdump.pipeline.discovery import discover
from kdump.searching.decoding import Decoding
from kdump.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from kdump.decoding.log_decoder import LogDecoder
    from kdump.formats.record import RecordChunk
    from kdump.messages.kafka_json import Json


class RecordDecoders:
    """The decoders of the segments of a log; the arguments are those of Decoding."""

    def __init__(self, key: str, value: str, schemas: str | None, command: str | None) -> None:
        self._decoding = Decoding(key=key, value=value, schemas=schemas, command=command)
        self._path = ""
        self._decoder: LogDecoder | None = None

    def require(self, paths: Sequence[str]) -> None:
        """Raise UsageError for decoders and schemas that do not exist."""
        self._decoding.require(item for path in paths[:1] for item in discover(path))

    def decoded(self, path: str, part: RecordChunk, records: Table[Record]) -> Iterator[tuple[int, Table[DecodedRecord]]]:
        """These records of a file in tables of bounded size, each with the number of its first row."""
        if self._decoder is None or path != self._path:
            self._path, self._decoder = path, self._decoding.of_hits(next(iter(discover(path))))
        for first, end, found in self._decoder.pieces(part):
            columns = {
                **records.slice(first, end).columns,
                "decoded_key": [_loaded(one.key) for one in found],
                "decoded_value": [_loaded(one.value) for one in found],
                "decode_error": [one.error for one in found],
            }
            yield first, Table(DecodedRecord, columns)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._decoding.close()


def _loaded(text: Json | None) -> object:
    return None if text is None else json.loads(text)
