"""Paths of files on this machine, and URLs of files in object stores and HDFS: the same operations on both.

A URL is a path like any other here: `os.path.join` and `os.path.basename` do the same with it. What would ask for the current
directory or collapse its slashes, and what would go above its root, is in this module.
"""

from __future__ import annotations

import os

from kdump.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "hdfs")
"""The schemes of URLs that kdump reads. A local path that starts like one can be written as `./s3://...`."""

_MARK = "://"
_STDOUT = "-"
_ARCHIVES = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip", ".7z", ".gz", ".zst")


def is_url(path: str) -> bool:
    """Whether a path is a URL of a file in a store, not that of a file on this machine."""
    scheme, mark, _ = path.partition(_MARK)
    return bool(mark) and scheme in SCHEMES


def require_local(path: str, what: str) -> None:
    """Raise UsageError for a URL: `what` has to be on this machine."""
    if is_url(path):
        raise UsageError(f"{path} is a URL, but {what} must be on this machine", remedy="kdump only reads from stores")


def require_directory_name(path: str, option: str) -> None:
    """Raise UsageError for the name of a new directory that was surely meant as something else: stdout, or an archive."""
    if path == _STDOUT:
        raise UsageError(f"{option} {path}: what is made is a directory, which cannot be written to stdout")
    if path.lower().endswith(_ARCHIVES):
        raise UsageError(
            f"{option} {path}: what is made is a directory, not an archive", remedy="make it first, and pack it then"
        )


def root(url: str) -> str:
    """The scheme and the authority of a URL: its bucket, container or cluster."""
    scheme, mark, rest = url.partition(_MARK)
    return scheme + mark + rest.partition("/")[0]


def absolute(path: str) -> str:
    """As os.path.abspath; a URL is absolute, and stays as it is but for slashes at its end."""
    return path.rstrip("/") if is_url(path) else os.path.abspath(path)


def real(path: str) -> str:
    """As os.path.realpath; a store has no links."""
    return absolute(path) if is_url(path) else os.path.realpath(path)


def parent(path: str) -> str:
    """The absolute path of the directory that this is in; the root is its own parent."""
    if not is_url(path):
        return os.path.dirname(os.path.abspath(path))
    path = absolute(path)
    return path if path == root(path) else os.path.dirname(path).rstrip("/")


def common(paths: Sequence[str]) -> str:
    """As os.path.commonpath of absolute paths; empty if they are in different stores."""
    if not any(map(is_url, paths)):
        return os.path.commonpath(paths)
    roots = {root(path) if is_url(path) else "" for path in paths}
    if len(roots) > 1:
        return ""
    (only,) = roots
    return only + os.path.commonpath([path[len(only) :] or "/" for path in paths]).rstrip("/")


def relative(path: str, above: str) -> str:
    """As os.path.relpath of absolute paths; from another store, the path itself."""
    if not is_url(path) and not is_url(above):
        return os.path.relpath(path, above or os.sep)
    if not above or root(path) != root(above):
        return path
    return os.path.relpath(path[len(root(path)) :] or "/", above[len(root(above)) :] or "/")
