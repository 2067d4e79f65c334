"""Gives a file its name when it is complete, and says whether what was written to it was accepted."""

import os


def place(temporary: str, path: str) -> None:
    """Give a file the name `path`, which nothing may have yet. `temporary` may be its name afterwards, too.

    Raises FileExistsError if something has that name, and OSError.
    """
    try:
        os.link(temporary, path)  # unlike rename, this does not overwrite
    except FileExistsError:
        raise
    except OSError:  # not every file system has links
        if os.path.lexists(path):
            raise
        os.rename(temporary, path)


def require_written(descriptor: int) -> None:
    """Raises OSError if only closing a file reports that it was not written, as where the disk of a file server is full."""
    try:
        other = os.dup(descriptor)
    except OSError:  # it is closed, or no descriptor is left
        return
    os.close(other)
