"""Searches several files at once: worker processes take files, and this process takes their results in the order of the files."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING

from kdump.output.rows.hits import NotRead, SearchedFile
from kdump.searching.file_search import FileResult, FileSearch
from kdump.searching.log_search import Found
from kdump.workers import process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.pipeline.discovery import FileItem
    from kdump.searching.file_search import FileSettings

_SIZE_BYTES = 8
_READ_BYTES = 1 << 16


def searched_by_processes(
    items: Sequence[FileItem], settings: FileSettings, jobs: int
) -> Iterator[tuple[FileItem, Found | FileResult]]:
    """What is found in each file, then its result. A worker that dies leaves its files unread, and says so."""
    shares = _shares(items, jobs)
    workers = [_Worker([items[at] for at in share], settings) for share in shares if share]
    owner_of = {at: worker for worker, share in zip(workers, (share for share in shares if share), strict=True) for at in share}
    try:
        for at, item in enumerate(items):
            for message in owner_of[at].messages():
                if message is None:
                    yield item, _lost(item, settings)
                    break
                yield item, message
                if isinstance(message, FileResult):
                    break
    finally:
        for worker in workers:
            worker.end()


def _shares(items: Sequence[FileItem], jobs: int) -> list[list[int]]:
    """The files of each worker, so that each has about as many bytes; in order."""
    shares: list[list[int]] = [[] for _ in range(jobs)]
    sizes = [0] * jobs
    for at in sorted(range(len(items)), key=lambda at: -items[at].size):
        least = sizes.index(min(sizes))
        shares[least].append(at)
        sizes[least] += items[at].size + 1
    return [sorted(share) for share in shares]


def _lost(item: FileItem, settings: FileSettings) -> FileResult:
    """The result of a file whose worker has died."""
    name = settings.names.get(item.path, item.path)
    row = SearchedFile(name, item.broker, item.topic, item.partition, item.state, item.size, 0, 0, None, None, 0, 1, None)
    gap = NotRead(name, 0, item.size, None, None, "worker-died", "the process that searched it ended early")
    return FileResult(row, [gap], not_read_bytes=item.size)


class _Worker:
    """A process that searches files one after the other, and writes what it finds into a pipe."""

    def __init__(self, items: list[FileItem], settings: FileSettings) -> None:
        self._read, write = os.pipe()
        self._held = bytearray()
        self._process = process.fork()
        if self._process:
            os.close(write)
            return
        code = 1
        try:
            os.close(self._read)
            for item in items:
                search = FileSearch(item, settings)
                for found in search.found():
                    _put(write, found)
                _put(write, search.result)
            code = 0
        finally:
            os._exit(code)

    def messages(self) -> Iterator[Found | FileResult | None]:
        """What it says next; None once it has ended."""
        while True:
            size = self._taken(_SIZE_BYTES)
            data = None if size is None else self._taken(int.from_bytes(size, "big"))
            yield None if data is None else pickle.loads(data)  # of this program's own process

    def _taken(self, count: int) -> bytes | None:
        while len(self._held) < count:
            data = os.read(self._read, max(_READ_BYTES, count - len(self._held)))
            if not data:
                return None
            self._held += data
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken

    def end(self) -> None:
        os.close(self._read)
        try:
            process.kill(self._process)
        except ProcessLookupError:
            pass
        os.waitpid(self._process, 0)


def _put(descriptor: int, message: Found | FileResult) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    process.write_all(descriptor, len(data).to_bytes(_SIZE_BYTES, "big"))
    process.write_all(descriptor, data)
