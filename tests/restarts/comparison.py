"""Puts what a log manager did into the fields that forecasts have, and says where a forecast differs from it."""

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import kdump
from kdump.forecasts.row import Forecast
from tests.restarts import evidence

NOT_KEPT = (".snapshot", ".snapshot.deleted", "leader-epoch-checkpoint")
"""Files that nothing is kept about: each start makes some and removes some."""

INDEXES = (".index", ".timeindex", ".txnindex")


def fields_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a line, from a record. What is empty is in it, too."""
    segments = record.get("segments", []) if "log_end" in record else None
    return {
        "words": [record["outcome"], *record.get("also", [])],
        "logStart": record.get("log_start"),
        "logEnd": record.get("log_end"),
        "dataEnd": record["data_end"],
        "bytesLost": record["bytes_lost"],
        "segments": record.get("segments_before", []) if segments == "same" else segments,
        "segmentsGone": record.get("segments_gone", []),
        "files": [[*change[:4], change[5]] for change in record.get("files", []) if not change[0].endswith(NOT_KEPT)],
        "lostRecords": record.get("lost_records", 0),
        "lostOffsets": record.get("lost_offsets", []),
        "exception": record.get("exception"),
        "said": [re.sub(r"\{CWD\}/data/[^/]+/", "", text) for text in (*record.get("log", []), *_thrown(record))],
    }


def differences(line: Mapping[str, Any], row: Forecast, leave_out: Container[str] = ()) -> list[tuple[str, object, object]]:
    """Where a forecast is not what a log manager did: the field, what was recorded, what was foretold."""
    foretold = {
        "words": [row.outcome, *row.also],
        "logStart": row.log_start,
        "logEnd": row.log_end,
        "dataEnd": row.data_end,
        "bytesLost": row.bytes_lost,
        "segments": row.segments,
        "segmentsGone": row.segments_gone,
        "lostRecords": row.lost_records,
        "lostOffsets": row.lost_offsets,
        "exception": row.exception,
    }
    found: list[tuple[str, object, object]] = [
        (name, line[name], value) for name, value in foretold.items() if line[name] != value and name not in leave_out
    ]
    recorded = foretold_files(line["files"])
    files = [(str(change["name"]), *list(change.values())[1:]) for change in row.files]
    if recorded != sorted(files, key=str):
        found.append(("files", recorded, files))
    if missing := evidence.what_is_missing(row.reason, line):
        found.append(("reason", missing, row.reason))
    return found


def foretold_files(files: Sequence[Sequence[Any]]) -> list[tuple[object, ...]]:
    """The recorded changes that forecasts speak of: all of logs, and other files that go, but for indexes that are made again."""
    remade = {change[0] for change in files if change[1] == "created"} | {change[2] for change in files}
    return sorted(
        (
            tuple(change)
            for change in files
            if change[0].endswith(".log")
            or change[1] in ("deleted", "renamed")
            and not (change[0].endswith(INDEXES) and change[0] in remade)
        ),
        key=str,
    )


def forecast_of(line: Mapping[str, Any], directories: Path) -> Forecast:
    path = directories / line["case"]
    if line.get("isInLogDirectory"):
        rows = kdump.forecast(path.parent, broker=line["release"], after=line["stop"])
        return next(row for row in rows if row.path == str(path))
    (row,) = kdump.forecast(
        path, broker=line["release"], after=line["stop"], recovery_point=line["recoveryPoint"], config=line.get("config")
    )
    return row


def _thrown(record: Mapping[str, Any]) -> list[str]:
    cause = record.get("cause", "")
    return [record["message"] + (f" | {cause}" if cause else "")] if "message" in record else []
