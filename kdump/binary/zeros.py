"""Where runs of zeros start and end in a file, without reading its holes."""

from __future__ import annotations

import os

from kdump.binary.source import WINDOW_SIZE, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.source import SizedReadable

_ZEROS = bytes(WINDOW_SIZE)
_FIRST_SIZE = 4 << 10  # bytes read first where a run of zeros may be short
_SECTOR_SIZE = 512  # the shortest run of zeros that counts inside a damaged range


def are_all_of(window: bytes) -> bool:
    """Whether all bytes of a window are zero; it is no longer than WINDOW_SIZE."""
    return window == _ZEROS[: len(window)]


def end(source: SizedReadable, start: int, window_size: int = WINDOW_SIZE) -> int:
    """Where the run of zeros that starts here ends; holes of a file are not read."""
    position, size = start, min(_FIRST_SIZE, window_size)
    while position < source.size:
        position = max(position, _data_from(source, position))
        window = source.read(position, size)
        if not window:
            return source.size
        if not are_all_of(window):
            return position + len(window) - len(window.lstrip(b"\x00"))
        position += len(window)
        size = min(4 * size, window_size)
    return source.size


def start_of_run(source: SizedReadable, start: int, end: int, window_size: int = WINDOW_SIZE) -> int:
    """Where the run of zeros starts that ends here, at `start` at the earliest; holes of a file are not read."""
    size = min(_FIRST_SIZE, window_size)
    while end > start:
        first = max(start, end - size)
        if _data_from(source, first) < end and not are_all_of(window := source.read(first, end - first)):
            return first + len(window.rstrip(b"\x00"))
        end, size = first, min(4 * size, window_size)
    return start


def runs(source: SizedReadable, start: int, stop: int, window_size: int = WINDOW_SIZE) -> Iterator[tuple[int, int]]:
    """Runs of at least a sector of zeros in a range, from the first to the last."""
    position = start
    needle = _ZEROS[:_SECTOR_SIZE]
    while stop - position >= _SECTOR_SIZE:
        window = source.read(position, min(window_size, stop - position))
        at = window.find(needle)
        if at < 0:
            if len(window) < _SECTOR_SIZE:
                return
            position += len(window) - _SECTOR_SIZE + 1
            continue
        run_end = min(end(source, position + at, window_size), stop)
        yield position + at, run_end
        position = run_end


def _data_from(source: SizedReadable, position: int) -> int:
    """The next position that is not in a hole."""
    file = getattr(source, "source", source)  # of one that reads through a window
    if not isinstance(file, Source):
        return position
    try:
        return os.lseek(file.fileno(), position, os.SEEK_DATA)
    except OSError as error:
        import errno

        is_hole = error.errno == errno.ENXIO and file.status().st_size >= source.size  # else reading says that it was cut
        return source.size if is_hole else position
