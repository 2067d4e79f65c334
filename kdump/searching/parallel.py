"""Searches several files at once: worker processes take files, and this process takes their results in the order of the files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kdump.output.rows.hits import NotRead, SearchedFile
from kdump.searching.file_search import FileResult, FileSearch
from kdump.workers.pool import Died, NoWorker, Pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.pipeline.discovery import FileItem
    from kdump.searching.file_search import FileSettings
    from kdump.searching.log_search import Found
    from kdump.workers.pool import Outlet


def searched_by_processes(
    items: Sequence[FileItem], settings: FileSettings, jobs: int
) -> Iterator[tuple[FileItem, Found | FileResult]]:
    """What is found in each file, then its result. A worker that dies leaves its file unread, and says so.

    Where no worker can be started, this process searches the files.
    """
    waiting = iter(items)
    hits = 0
    with Pool(partial(_search, settings), min(jobs, len(items))) as pool:
        try:
            for item, message in pool.results(waiting, in_order=True):
                if isinstance(message, Died):
                    message = _lost(item, settings, hits)
                yield item, message
                hits = 0 if isinstance(message, FileResult) else hits + sum(map(bool, message.matched))
        except NoWorker as error:
            for item in (error.task, *waiting):
                for found in _searched_here(item, settings):
                    yield item, found


def _search(settings: FileSettings, item: FileItem, outlet: Outlet) -> None:
    for message in _searched_here(item, settings):
        outlet.send(message)


def _searched_here(item: FileItem, settings: FileSettings) -> Iterator[Found | FileResult]:
    search = FileSearch(item, settings)
    yield from search.found()
    yield search.result


def _lost(item: FileItem, settings: FileSettings, hits: int) -> FileResult:
    """The result of a file whose worker has died after so many hits."""
    name = settings.names.get(item.path, item.path)
    row = SearchedFile(name, item.broker, item.topic, item.partition, item.state, item.size, 0, 0, 0, None, None, hits, 1, None)
    gap = NotRead(name, 0, item.size, None, None, "worker-died", "the process that searched it ended early")
    return FileResult(row, [gap], not_read_bytes=item.size)
