"""How tests are spread over processes: in units, each of which one process runs."""

import zlib

from xdist.scheduler import LoadScopeScheduling

PARTS = {"test_kdump_prints_what_kafka_prints": 20}
"""Tests of many cases, and in how many parts processes take them. All others of a module are one unit, and share its fixtures."""

SPARK = "spark"
"""The unit of all that needs Spark, so that it starts once."""


class Units(LoadScopeScheduling):
    """Gives each process a unit at a time, in the order in which tests are collected."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    """The unit that a test is in."""
    path, _, test = nodeid.partition("::")
    module = path.rpartition("/")[2].removesuffix(".py")
    if module.startswith("test_spark"):
        return SPARK
    name = test.partition("[")[0]
    return f"{path}::{name} {zlib.crc32(nodeid.encode()) % PARTS[name]}" if name in PARTS else path
