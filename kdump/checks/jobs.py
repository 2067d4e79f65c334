"""Divides what a path names into tasks of a check: partition directories, log directories, files."""

from __future__ import annotations

from kdump.binary import system
from kdump.errors import Unreadable
from kdump.formats import tree


class Job:
    """A task that needs no other: a `partition` directory, a `file`, or the files of a `log-dir` itself.

    `root` is the tree that it is a part of, None for a file that was named itself. `unlisted` says why the system did not say
    what is at the path; empty if it did.
    """

    __slots__ = ("kind", "path", "root", "unlisted")

    FILE, PARTITION, LOG_DIR = "file", "partition", "log-dir"

    def __init__(self, kind: str, path: str, root: str | None = None, unlisted: str = "") -> None:
        self.kind = kind
        self.path = path
        self.root = root
        self.unlisted = unlisted


def jobs(path: str, *, root: str | None = None, depth: int = tree.MAX_DEPTH) -> list[Job]:
    """The tasks for a path. Log directories are searched for `depth` levels below it, but not through links."""
    root = root or path
    try:
        if not system.is_directory(path):
            return [Job(Job.FILE, path)]
        if tree.is_partition(path):
            return [Job(Job.PARTITION, path, root)]
        inside = tree.partitions(path)
        folders = [] if tree.is_log_directory(path) or not depth else tree.folders(inside)
    except Unreadable as error:
        return [Job(Job.PARTITION, path, root, error.message)]  # which says why it cannot be listed
    if folders:
        return [job for folder in folders for job in jobs(folder, root=root, depth=depth - 1)]
    return [Job(Job.LOG_DIR, path, root), *(Job(Job.PARTITION, partition, root) for partition in inside)]


def is_place(job: Job) -> bool:
    """Whether a task is about a log directory that a broker made, or about one partition of it."""
    if job.kind == Job.LOG_DIR:
        return tree.is_log_directory(job.path)
    return job.kind == Job.PARTITION and job.root == job.path and tree.is_log_directory(directory_of(job))


def directory_of(job: Job) -> str:
    """The directory that the path of a task is in."""
    return tree.parent(job.path.rstrip("/") or job.path)
