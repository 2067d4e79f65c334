"""Divides what a path names into tasks of a check: partition directories, log directories, files."""

from __future__ import annotations

from kdump.formats import tree
from kdump.tables import Declared


class Job(Declared):
    """A task that needs no other: a `partition` directory, a `file`, or the files of a `log-dir` itself.

    `root` is the tree that it is a part of, None for a file that was named itself. `unlisted` says why the system did not say
    what is at the path; empty if it did.
    """

    kind: str
    path: str
    root: str | None = None
    unlisted: str = ""

    FILE, PARTITION, LOG_DIR = tree.FILE, tree.PARTITION, tree.LOG_DIRECTORY


def jobs(path: str) -> list[Job]:
    """The tasks for a path. Log directories are searched for some levels below it, but not through links."""
    places = tree.places_below(path)
    return [Job(kind, place, None if kind == Job.FILE else path, unlisted) for kind, place, unlisted in places]


def is_place(job: Job) -> bool:
    """Whether a task is about a log directory that a broker made, or about one partition of it."""
    if job.kind == Job.LOG_DIR:
        return tree.is_log_directory(job.path)
    return job.kind == Job.PARTITION and job.root == job.path and tree.is_log_directory(tree.parent(job.path))
