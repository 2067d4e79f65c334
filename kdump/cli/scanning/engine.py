"""Chooses the engine of a scan: Spark, or worker processes on this machine."""

from __future__ import annotations

import importlib.util
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
    """The engine that is asked for; otherwise Spark if one of its settings is given, or if Spark and Java are installed.

    That takes a moment: Java is asked for its version.
    """
    if asked_for == SPARK or master is not None or conf:
        return _spark(master, cores)
    here = f"Scanning with {cores} {'process' if cores == 1 else 'processes'} of this machine"
    if asked_for == LOCAL:
        return Engine(LOCAL, f"{here}; --engine spark uses Spark.")
    if importlib.util.find_spec("pyspark") is None:
        return Engine(LOCAL, f"{here}; for Spark: pip install 'kdump[spark,java]'.")
    no_java = _why_no_java()
    if no_java:
        return Engine(LOCAL, f"{here}, though Spark is installed: {no_java}.")
    return _spark(master, cores)


def _spark(master: str | None, cores: int) -> Engine:
    where = f"on {cores} {'core' if cores == 1 else 'cores'} of this machine" if master is None else f"at {master}"
    return Engine(SPARK, f"Scanning with Spark {where}; --engine local does not use Spark.")


def _why_no_java() -> str:
    """Why Spark finds no Java here, and what helps; empty if it finds one."""
    from kdump.spark.session import NoJava, java_home

    try:
        java_home()
    except NoJava as error:
        return str(error)
    return ""
