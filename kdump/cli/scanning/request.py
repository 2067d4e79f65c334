"""What `kdump scan` is asked for: which paths, which tables, which engine."""

from __future__ import annotations

import os
import re
import time
from functools import cached_property
from typing import TYPE_CHECKING

from kdump import __version__
from kdump.binary import system
from kdump.binary.paths import absolute, require_directory_name, require_local
from kdump.checks.finding import SEVERITIES
from kdump.cli.scanning.engine import LOCAL, SPARK, Engine, chosen
from kdump.cli.scanning.options import SAVINGS
from kdump.cli.schema_options import kind_of
from kdump.errors import UsageError, unknown_name
from kdump.output.arrow.rows import TABLES
from kdump.pipeline.scan_files import MANIFEST
from kdump.spark.asked_for import has_cluster
from kdump.workers.cores import jobs_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.cli.scanning.options import ScanOptions
    from kdump.pipeline.fleet.query import Query

_MASTER = re.compile(r"local(\[.+\])?$|local-cluster\[.+\]$|yarn$|(spark|k8s)://.")
"""How Spark writes where it runs: `SparkContext.createTaskScheduler`."""

RECORDS = "records"
BATCHES = "batches"


class ScanRequest:
    """One invocation of `kdump scan`. Raises UsageError for tables that do not exist, and if DIR exists.

    Without `tables_to`, the tables are made for the summary alone.
    """

    def __init__(self, options: ScanOptions) -> None:
        self.paths = list(options.paths)
        self.tables_to = None if options.tables_to is None else options.tables_to.rstrip("/") or options.tables_to
        require_local(self.tables_to or "", "the directory of --tables-to")
        require_directory_name(self.tables_to or "", "--tables-to")
        self.is_repeated = self.tables_to is not None and system.has_name(self.tables_to)
        if self.is_repeated and not system.is_file(os.path.join(str(self.tables_to), MANIFEST)):
            raise UsageError(
                f"--tables-to {options.tables_to} exists; kdump does not overwrite files",
                remedy="name another directory; only scans of kdump without --decode are repeated",
            )
        self.master = options.master
        if options.master is not None and options.master.startswith("sc://"):
            raise UsageError(
                "a scan needs the jobs of a session, which Spark Connect does not give",
                remedy="--master spark://host:7077 names a cluster; kdump.spark.read works with Spark Connect",
            )
        if options.master is not None and not _MASTER.match(options.master):
            raise UsageError(
                f"--master {options.master!r} is none of Spark's",
                remedy="there are local, local[4], spark://host:7077, yarn and k8s://https://host:443",
            )
        self.conf = dict(_setting(text) for text in options.conf)
        self.is_nice, self.rate = options.is_nice, options.rate
        self.cores = 1 if options.rate else options.jobs or jobs_here()  # a rate is that of one process
        self._asked_for = options.engine
        self._includes_deleted = options.include_deleted
        if options.engine == LOCAL and (options.master is not None or options.conf):
            raise UsageError("--master and --conf are for --engine spark")
        if self.tables_to is None and (options.tables is not None or options.with_records):
            raise UsageError("--tables and --records say which tables are kept", remedy="--tables-to DIR says where")
        if self.tables_to is None and self.is_on_cluster:
            raise UsageError(
                "a scan on a cluster needs a directory that its processes can read", remedy="--tables-to DIR names it"
            )
        self.tables = _tables(options.tables, options.with_records)
        self.failing = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1]
        self.output = options.output
        self.level = options.level
        self.savings = SAVINGS[options.savings]
        given = {
            "topics": options.topics,
            "partitions": options.partitions,
            "broker": options.broker,
            "includeDeleted": str(options.include_deleted).lower(),
            "targetBytes": options.target_bytes,
            "level": options.level,
            "cleanupPolicy": options.cleanup_policy,
            "now": str(int(time.time() * 1000)),
        }
        self.given = {name: value for name, value in given.items() if value is not None}
        self.decoding = _decoding(options, with_records=RECORDS in self.tables)
        if self.is_repeated and self.decoding:
            raise UsageError(f"--tables-to {options.tables_to} exists; a scan that decodes records cannot be repeated")

    @property
    def identity(self) -> dict[str, object]:
        """What a repeated scan must be asked for as well."""
        given = {name: value for name, value in self.given.items() if name not in ("now", "targetBytes")}
        paths = [absolute(path) for path in self.paths]
        return {**given, "paths": paths, "tables": self.tables, "savings": self.savings, "kdump": __version__}

    @property
    def asks(self) -> bool:
        """Whether the tables are asked questions."""
        return bool(self.questions_without(()))

    def questions_without(self, replicas: Sequence[str]) -> list[Query]:
        """The questions to the tables, which compare nothing with these replicas.

        There are none if the tables also hold deleted files, beside those that replaced them.
        """
        from kdump.pipeline.fleet import questions  # slow to load, and a scan without changes asks none

        if self._includes_deleted:
            return []
        found = questions.of_scan(int(self.given["now"]), without=replicas, reads_records=RECORDS in self.tables)
        return questions.answerable(found, self.tables)

    @cached_property
    def engine(self) -> Engine:
        """The engine that scans."""
        return chosen(self._asked_for, master=self.master, conf=self.conf, cores=self.cores)

    @property
    def is_on_cluster(self) -> bool:
        """Whether a cluster does the work, or may do it."""
        return self.engine.name == SPARK and has_cluster(self.master)


def _tables(names: str | None, with_records: bool) -> list[str]:
    """The tables to write, in their order. Findings and segments are always among them, because the summary is made of these."""
    if names is None:
        return [table for table in TABLES if table != RECORDS or with_records]
    chosen = {name.strip() for name in names.split(",")}
    unknown = sorted(chosen - TABLES.keys())
    if unknown:
        raise unknown_name(f"there is no table {unknown[0]!r}", unknown[0], TABLES)
    chosen |= {"files", "segments", "findings"} | ({RECORDS} if with_records else set())
    return [table for table in TABLES if table in chosen]


def _decoding(options: ScanOptions, *, with_records: bool) -> dict[str, str]:
    """How records are decoded, as options of the pipeline. Raises UsageError for an unknown decoder, and without records."""
    for option, decoder in (("--key-decoder", options.key_decoder), ("--value-decoder", options.value_decoder)):
        if decoder is not None and kind_of(option, decoder) == "cmd":
            raise UsageError(f"a scan has no command that decodes, so {option} cannot be cmd", remedy="kdump log has one")
    given = {
        "decode": options.decode if options.decode != "none" else None,
        "keyDecoder": options.key_decoder,
        "valueDecoder": options.value_decoder,
        "schemas": options.schemas,
    }
    decoding = {name: value for name, value in given.items() if value is not None}
    if decoding and not with_records:
        raise UsageError("only the table of records has keys and values to decode", remedy="--records writes it")
    return decoding


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--conf takes NAME=VALUE, not {text!r}")
    return name, value
