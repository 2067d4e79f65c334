"""The options of a table: which files, rows and columns, and how the work is divided."""

from __future__ import annotations

import json
import re
import time
from functools import cached_property
from typing import TYPE_CHECKING

from kdump.binary.paths import SCHEMES, is_url
from kdump.checks.settings import CLEANUP_POLICIES, LEVELS, SCAN_LEVEL, UNKNOWN, Settings
from kdump.errors import UsageError, unknown_name
from kdump.formats.ranges import Range
from kdump.formats.selection import Selection
from kdump.output.arrow.limits import BATCH_BYTES, BATCH_ROWS, MAX_VALUE_BYTES
from kdump.output.arrow.rows import TABLES, columns_of
from kdump.output.times import milliseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from kdump.decoding.schemas_of_logs import SchemasOfLogs

PERMISSIVE, FAILFAST = "PERMISSIVE", "FAILFAST"
AUTO = "auto"
SAMPLE = "sample"

TARGET_BYTES = 64 << 20

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

NAMES = (
    "path",
    "paths",
    "table",
    "topics",
    "partitions",
    "fromOffset",
    "toOffset",
    "fromTimestamp",
    "toTimestamp",
    "columns",
    "crc",
    "uncompressed",
    "targetBytes",
    "parallelism",
    "batchRows",
    "batchBytes",
    "maxValueBytes",
    "pushdown",
    "mode",
    "unreadable",
    "includeDeleted",
    "filelist",
    "broker",
    "isolated",
    "level",
    "cleanupPolicy",
    "followLinks",
    "now",
    "failOnDataLoss",
    "decode",
    "keyDecoder",
    "valueDecoder",
    "schemas",
)
"""All options, as they are written; upper and lower case make no difference."""


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def _path(path: str) -> str:
    """A path, also where it is written as a URL of a file; one of a store stays. Raises UsageError for other URLs."""
    scheme = _SCHEME.match(path)
    if scheme is None or is_url(path):
        return path
    if scheme[1].lower() == "file" and (path[5:8] == "///" or path[5:7] != "//"):
        return "/" + path[5:].lstrip("/")
    message = (
        f"{path} is not a local path, and kdump does not read such URLs; it reads {', '.join(SCHEMES)}, each followed by ://"
    )
    raise UsageError(message, remedy="copy the files, or mount the store, on every machine that reads them")


class Options:
    """The parsed options. Raises UsageError, which names the option, for an invalid value.

    `unreadable` says what happens to a file that cannot be read completely: it fails the task, becomes a row with the column
    `error`, or is left out and reported to the caller of the pipeline. `kdump scan` makes findings of these reports.
    """

    FAIL, AS_ROW, SKIP = "fail", "row", "skip"

    def __init__(self, given: Mapping[str, str], *, path: str = "") -> None:
        values = {name.lower(): value for name, value in given.items()}
        known = {name.lower() for name in NAMES}
        unknown = sorted(values.keys() - known)
        if unknown:
            raise unknown_name(f"there is no option {unknown[0]!r}", unknown[0], NAMES)
        self._values = values
        self.paths = self._paths() or ([path] if path else [])
        self.table = values.get("table", "batches")
        if self.table not in TABLES:
            raise unknown_name(f"there is no table {self.table!r}", self.table, TABLES)
        self.selection = Selection.of_texts(values.get("topics"), values.get("partitions"), "partitions")
        self.range = Range(
            self._integer("fromOffset"),
            self._integer("toOffset"),
            self._time("fromTimestamp", is_end=False),
            self._time("toTimestamp", is_end=True),
        )
        self.unreadable = values.get("unreadable", self.FAIL).lower()
        if self.unreadable not in (self.FAIL, self.AS_ROW, self.SKIP):
            raise UsageError(f"unreadable is {self.FAIL}, {self.AS_ROW} or {self.SKIP}, not {self.unreadable!r}")
        self.decoding = self._decoding()
        self.columns = columns_of(
            self.table,
            self._list("columns"),
            with_error=self.unreadable == self.AS_ROW,
            with_decoded=self.decoding is not None,
        )
        self.checks_crcs = self._truth("crc", True)
        self.samples_uncompressed = values.get("uncompressed", "").lower() == SAMPLE
        self.measures_uncompressed = self.samples_uncompressed or self._truth("uncompressed", False)
        self.target_bytes = self._size("targetBytes", TARGET_BYTES)
        self.parallelism = self._integer("parallelism")
        self.batch_rows = self._size("batchRows", BATCH_ROWS)
        self.batch_bytes = self._size("batchBytes", BATCH_BYTES)
        self.max_value_bytes = self._size("maxValueBytes", MAX_VALUE_BYTES)
        self.is_pushdown = self._truth("pushdown", False)
        self.mode = values.get("mode", PERMISSIVE).upper()
        if self.mode not in (PERMISSIVE, FAILFAST):
            raise UsageError(f"mode is {PERMISSIVE} or {FAILFAST}, not {self.mode!r}")
        self.includes_deleted = self._truth("includeDeleted", False)
        self.file_list = values.get("filelist")
        self.broker = values.get("broker")
        self.is_isolated = self._truth("isolated", True)
        self.fails_on_data_loss = self._truth("failOnDataLoss", True)
        self.follows_links = self._truth("followLinks", False)
        if not self.paths and not self.file_list:
            raise UsageError("no path was given", remedy='load("/var/lib/kafka") or read(spark, "/var/lib/kafka") names one')
        self.settings = self._settings()

    @cached_property
    def schema(self) -> pa.Schema:
        """Arrow's schema of the columns."""
        from kdump.output.arrow.schemas import schema_of  # Arrow takes long to load, and finding files does not need it

        return schema_of(self.columns)

    @property
    def fails_fast(self) -> bool:
        """Whether damage stops the read, instead of being left out."""
        return self.mode == FAILFAST

    @property
    def has_range(self) -> bool:
        """Whether offsets or timestamps are restricted."""
        return not self.range.is_open

    def _decoding(self) -> SchemasOfLogs | None:
        """How records are decoded by their schemas; None if they are not."""
        decode = self._values.get("decode", "none").lower()
        if decode not in ("none", AUTO):
            raise UsageError(f"decode is none or {AUTO}, not {decode!r}")
        given = [self._values.get(name.lower()) for name in ("keyDecoder", "valueDecoder", "schemas")]
        if decode == "none" and not any(given):
            return None
        if self.table != "records":
            raise UsageError(f"the table {self.table} has no keys and values to decode", remedy="leave out decode and the like")
        from kdump.decoding.schemas_of_logs import SchemasOfLogs  # takes its time to load

        return SchemasOfLogs(given[0] or "", given[1] or "", given[2])

    def _settings(self) -> Settings:
        level = self._values.get("level", SCAN_LEVEL)
        if level not in LEVELS:
            raise UsageError(f"level is one of {', '.join(LEVELS)}, not {level!r}")
        policy = self._values.get("cleanuppolicy", UNKNOWN)
        if policy not in CLEANUP_POLICIES:
            raise UsageError(f"cleanupPolicy is one of {', '.join(CLEANUP_POLICIES)}, not {policy!r}")
        now = self._integer("now")
        return Settings(
            now=int(time.time() * 1000) if now is None else now,
            level=level,
            cleanup_policy=policy,
            follows_links=self.follows_links,
        )

    def _paths(self) -> list[str]:
        """The path of `load(path)`, or the paths of `load([path, ...])`, which Spark passes as JSON."""
        paths = [self._values["path"]] if self._values.get("path") else []
        if "paths" in self._values:
            try:
                paths += json.loads(self._values["paths"])
            except ValueError:
                raise UsageError(f"paths is a list in JSON, not {self._values['paths']!r}")
        return [_path(path) for path in paths]

    def _list(self, name: str) -> tuple[str, ...]:
        return tuple(item.strip() for item in self._values.get(name.lower(), "").split(",") if item.strip())

    def _integer(self, name: str) -> int | None:
        value = self._values.get(name.lower())
        try:
            return None if value is None else int(value)
        except ValueError:
            raise UsageError(f"{name} is a number, not {value!r}")

    def _time(self, name: str, *, is_end: bool) -> int | None:
        """Milliseconds since 1970, of a number of them, a date, or a date and time."""
        value = self._values.get(name.lower())
        if value is None or value.removeprefix("-").isdecimal():
            return self._integer(name)
        try:
            return milliseconds(value, is_end=is_end)
        except UsageError as error:
            raise UsageError(f"{name}: {error.message}")

    def _size(self, name: str, default: int) -> int:
        value = self._values.get(name.lower())
        if value is None:
            return default
        text = value.strip().lower().removesuffix("b").removesuffix("i")
        digits = text.rstrip("kmgt")
        try:
            size = int(float(digits) * _UNITS[text[len(digits) :]])
        except (KeyError, ValueError):
            raise UsageError(f"{name} is a number of bytes such as 64m, not {value!r}")
        if size < 1:
            raise UsageError(f"{name} is at least 1, not {value!r}")
        return size

    def _truth(self, name: str, default: bool) -> bool:
        value = self._values.get(name.lower())
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise UsageError(f"{name} is true or false, not {value!r}")
        return value.lower() == "true"
