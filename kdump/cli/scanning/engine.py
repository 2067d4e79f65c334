"""Chooses the engine of a scan: worker processes on this machine, or Spark where somebody asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

SPARK = "spark"
LOCAL = "local"
ENGINES = (SPARK, LOCAL)


class Engine(NamedTuple):
    """An engine: its name, and a line that says which it is and how to get the other one."""

    name: str
    line: str


def chosen(asked_for: str | None, *, master: str | None, conf: Collection[str], cores: int) -> Engine:
    """The engine that is asked for: by its name, by a setting of Spark, by spark-submit, or by a session of this process."""
    from kdump.spark.asked_for import has_session, is_submitted  # only for scans: other commands know the names of engines

    if has_session():
        where = "in the session of this process"
    elif master is not None:
        where = f"at {master}"
    elif is_submitted():
        where = "where spark-submit says"
    else:
        where = f"on {cores} {'core' if cores == 1 else 'cores'} of this machine"
        asked_for = asked_for or (SPARK if conf else LOCAL)
    if asked_for == LOCAL:
        processes = "process" if cores == 1 else "processes"
        return Engine(LOCAL, f"Scanning with {cores} {processes} of this machine; --engine spark uses Spark.")
    return Engine(SPARK, f"Scanning with Spark {where}; --engine local does not use Spark.")
