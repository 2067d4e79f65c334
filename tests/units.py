"""How tests are spread over processes: in units, each of which one process runs."""

import zlib

PARTS = {"test_kdump_prints_what_kafka_prints": 20}
"""Tests of many cases, and in how many parts processes take them. All others of a module are one unit, and share its fixtures."""

TOGETHER = "test_ordinary_damage"
"""Modules of several folders with the same cases, in one unit: the first test of a case makes the log for all."""

SPARK = "spark"
"""The unit of all that needs Spark, so that it starts once."""

BESIDE_SPARK = {
    *("test_check_entries", "test_check_files", "test_check_framing", "test_check_rules", "test_check_transactions"),
    *("test_compression", "test_evidence", "test_forecast", "test_golden_grid", "test_goldens", "test_indexes", "test_log"),
    *("test_messages", "test_record", "test_releases", "test_salvage", "test_witnesses"),
}
"""Modules that fork no process: Spark leaves threads in the process that ran it, which is not forked any more."""


def unit_of(nodeid: str) -> str:
    path, _, test = nodeid.partition("::")
    module = _module_of(path)
    if module.startswith("test_spark"):
        return SPARK
    if module == TOGETHER:
        return module
    name = test.partition("[")[0]
    return f"{path}::{name} {zlib.crc32(nodeid.encode()) % PARTS[name]}" if name in PARTS else path


def may_follow_spark(unit: str) -> bool:
    """Whether the process that ran Spark may run this unit."""
    return _module_of(unit.partition("::")[0]) in BESIDE_SPARK


def _module_of(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".py")
