"""Which engine does a scan: Spark where somebody asked for it, or else processes of this machine."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

SPARK = "spark"
LOCAL = "local"
ENGINES = (SPARK, LOCAL)


class Engine(NamedTuple):
    """The name of an engine, and what is said of it: which it is, and how to get the other one."""

    name: str
    line: str


def chosen(asked_for: str | None, *, master: str | None, conf: Collection[str], cores: int) -> Engine:
    """The engine that is asked for; Spark where a setting of it is given, or where its package is installed and Java is there.

    That takes a moment: Java is asked for its version.
    """
    if asked_for == SPARK or master is not None or conf:
        return _spark(master, cores)
    here = f"Scanning with {cores} {'process' if cores == 1 else 'processes'} of this machine"
    if asked_for == LOCAL:
        return Engine(LOCAL, f"{here}; --engine spark takes Spark.")
    if importlib.util.find_spec("pyspark") is None:
        return Engine(LOCAL, f"{here}; for Spark: pip install 'kdump[spark,java]'.")
    no_java = _why_no_java()
    if no_java:
        return Engine(LOCAL, f"{here}, though Spark is installed: {no_java}.")
    return _spark(master, cores)


def _spark(master: str | None, cores: int) -> Engine:
    where = f"on {cores} {'core' if cores == 1 else 'cores'} of this machine" if master is None else f"at {master}"
    return Engine(SPARK, f"Scanning with Spark {where}; --engine local does without Spark.")


def _why_no_java() -> str:
    """Why Spark finds no Java here, and what helps; empty if it does."""
    from kdump.spark.session import NoJava, java_home

    try:
        java_home()
    except NoJava as error:
        return str(error)
    return ""
