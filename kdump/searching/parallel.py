"""Searches several files at once: worker processes take files, and this process takes their results in the order of the files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kdump.output.rows.hits import NotRead, SearchedFile
from kdump.searching.file_search import FileResult, FileSearch
from kdump.searching.log_search import Found
from kdump.workers import messages, process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.pipeline.discovery import FileItem
    from kdump.searching.file_search import FileSettings


def searched_by_processes(
    items: Sequence[FileItem], settings: FileSettings, jobs: int
) -> Iterator[tuple[FileItem, Found | FileResult]]:
    """What is found in each file, then its result. A worker that dies leaves its files unread, and says so.

    Where no worker can be started for files, this process searches them.
    """
    owner_of: dict[int, _Worker] = {}
    workers: list[_Worker] = []
    try:
        for share in filter(None, _shares(items, jobs)):
            try:
                workers.append(_Worker([items[at] for at in share], settings))
            except OSError:  # the machine has no process or no descriptor for another one
                break
            owner_of |= dict.fromkeys(share, workers[-1])
        for at, item in enumerate(items):
            for message in owner_of[at].messages_of(item) if at in owner_of else _searched_here(item, settings):
                yield item, message
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


def _searched_here(item: FileItem, settings: FileSettings) -> Iterator[Found | FileResult]:
    search = FileSearch(item, settings)
    yield from search.found()
    yield search.result


class _Worker:
    """A process that searches files one after the other, and writes what it finds into a pipe."""

    def __init__(self, items: list[FileItem], settings: FileSettings) -> None:
        """Raises OSError where none can be started."""
        self._settings = settings
        self._read, write = os.pipe()
        try:
            self._process = process.start(lambda: self._search(items, write))
        except OSError:
            os.close(self._read)
            raise
        finally:
            os.close(write)

    def _search(self, items: list[FileItem], write: int) -> None:
        os.close(self._read)
        for item in items:
            for message in _searched_here(item, self._settings):
                messages.send(write, message)

    def messages_of(self, item: FileItem) -> Iterator[Found | FileResult]:
        """What it finds in a file that is its next one, then the result, which says so if the process has died."""
        hits = 0
        while True:
            try:
                message: Found | FileResult = messages.receive(self._read)
            except EOFError:
                message = _lost(item, self._settings, hits)
            yield message
            if isinstance(message, FileResult):
                return
            hits += sum(map(bool, message.matched))

    def end(self) -> None:
        os.close(self._read)
        try:
            process.kill(self._process)
        except ProcessLookupError:
            pass
        os.waitpid(self._process, 0)


def _lost(item: FileItem, settings: FileSettings, hits: int) -> FileResult:
    """The result of a file whose worker has died after so many hits."""
    name = settings.names.get(item.path, item.path)
    row = SearchedFile(name, item.broker, item.topic, item.partition, item.state, item.size, 0, 0, 0, None, None, hits, 1, None)
    gap = NotRead(name, 0, item.size, None, None, "worker-died", "the process that searched it ended early")
    return FileResult(row, [gap], not_read_bytes=item.size)
