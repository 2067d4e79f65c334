"""Spark answers questions to a fleet as DuckDB does, over fleets that were made up."""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kdump.checks.catalogue import FLEET
from kdump.cli.commands import main
from kdump.errors import UsageError
from tests.builders.files import partition_metadata
from tests.builders.fleets import write_fleet
from tests.checks.faults.case import NOW
from tests.checks.faults.fleet import CASES
from tests.cookbook_fleet import write_cookbook_fleet
from tests.random_fleets import write_random_fleet
from tests.sessions import why_no_spark

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = pytest.importorskip("pyarrow", reason="tables need the package pyarrow")

import pyarrow.parquet as pq  # what needs Arrow

from kdump.output.arrow.schemas import schema_of, table_schema
from kdump.pipeline.fleet import questions, segments, statistics, transactions
from kdump.pipeline.fleet.query import Query
from tests.fleets import ask_tables, in_order, tables_of
from tests.loops import each

pytestmark = [pytest.mark.spark, pytest.mark.skipif(bool(why_no_spark()), reason=why_no_spark())]

DAY = 86_400_000

FINDINGS = questions.of_scan(NOW, retention_ms=7 * DAY, reads_records=True)

OTHERS: tuple[Query, ...] = (
    *(query for query in questions.of_scan(NOW) if query.name == "blocked"),
    segments.continuity(),
    transactions.sequence_breaks(),
    statistics.sizes(),
    statistics.codecs(),
    statistics.skew(),
    statistics.throughput(3_600_000),
    statistics.producers(),
    statistics.top_keys(10),
    statistics.largest_records(10),
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    """A fleet of made up partitions, and all that the cases of faults show, as partitions of topics of their own."""
    made_up = tables_of(write_random_fleet(tmp_path_factory.mktemp("random") / "fleet", 120, seed=7))
    shown = []
    for number, case in enumerate(CASES):
        brokers = {broker: {_renamed(name, number): one for name, one in held.items()} for broker, held in case.shown.items()}
        cleaned = {broker: {_renamed(name, number): offset for name, offset in of.items()} for broker, of in case.cleaned.items()}
        shown.append(tables_of(write_fleet(tmp_path_factory.mktemp("case") / "fleet", brokers, cleaned=cleaned)))
    return {name: pa.concat_tables([made_up[name], *(each[name] for each in shown)]) for name in made_up}


def _renamed(name: str, number: int) -> str:
    topic, _, partition = name.rpartition("-")
    return f"{topic}.{number}-{partition}"


@pytest.fixture(scope="module")
def frames(spark: Any, tables: dict[str, pa.Table]) -> dict[str, Any]:
    return {name: spark.createDataFrame(table) for name, table in tables.items()}


def test_spark_finds_as_duckdb_does(frames: dict[str, Any], tables: dict[str, pa.Table]) -> None:
    from kdump.spark import checks

    expected = ask_tables(FINDINGS, tables)
    found = checks.fleet(frames, NOW, retention_ms=7 * DAY).toArrow()
    assert found.schema.names == table_schema("findings").names
    assert found.schema.types == table_schema("findings").types
    assert in_order(found.to_pylist()) == in_order(pa.concat_tables(expected).to_pylist())
    assert all(answer.num_rows for answer in expected)
    assert set(found["code"].to_pylist()) == FLEET


@each("query", OTHERS, ids=lambda query: query.name)
def test_spark_answers_as_duckdb_does(query: Query, frames: dict[str, Any], tables: dict[str, pa.Table]) -> None:
    from kdump.spark import checks

    (expected,) = ask_tables([query], tables)
    found = checks.ask(query, frames).toArrow()
    assert found.schema.names == schema_of(query.result).names
    assert found.schema.types == schema_of(query.result).types
    assert in_order(found.to_pylist()) == in_order(expected.to_pylist())
    assert expected.num_rows


def test_a_table_without_a_column_is_named(spark: Any) -> None:
    from kdump.spark import checks

    frame = spark.createDataFrame([(1, "1")], "partition int, broker string")
    with pytest.raises(UsageError, match="the table segments was given without the column topic"):
        checks.continuity(frame)
    assert checks._frame(spark, "segments", ["broker"], frame.toDF("PARTITION", "Broker")).columns == ["broker"]


def test_functions_ask_what_their_names_say(tables: dict[str, pa.Table], monkeypatch: pytest.MonkeyPatch) -> None:
    """They only choose the question and its tables, so that DuckDB can answer instead of Spark."""
    from kdump.spark import checks

    def ask(query: Query, given: dict[str, Any]) -> pa.Table:
        assert given.keys() == query.columns.keys(), query.name
        (answer,) = ask_tables([query], given)
        return answer

    monkeypatch.setattr(checks, "ask", ask)
    batches, records, segments, checkpoints = (tables[name] for name in ("batches", "records", "segments", "checkpoints"))
    given: Any = {
        "txn-marker-missing": checks.missing_markers(batches),
        "replica-behind": checks.behind(segments, NOW),
        "retention-blocked": checks.retention_blocked(segments, NOW, checkpoints=checkpoints),
        "cleaner-behind": checks.cleaner_behind(segments, checkpoints),
        "compaction-duplicate": checks.compaction_duplicates(records, checkpoints),
        "tombstone-overdue": checks.tombstones_overdue(batches, NOW),
    }
    for code, answer in given.items():
        assert set(answer["code"].to_pylist()) == {code}
    diverging: Any = checks.divergence(batches, checkpoints)
    assert {"replica-divergence", "replica-missing-batches"} <= set(diverging["code"].to_pylist())
    lenient: Any = checks.behind(segments, NOW, lag_ms=1 << 62)
    infos = [answer["severity"].to_pylist().count("info") for answer in (lenient, given["replica-behind"])]
    assert infos[0] > infos[1]


def test_a_scan_on_spark_finds_and_sums_up_what_one_without_does(spark: Any, tmp_path: Path) -> None:
    from kdump.spark import checks

    brokers = write_cookbook_fleet(tmp_path / "brokers")
    (brokers / "broker=3" / "clicks-1" / "partition.metadata").write_bytes(partition_metadata(topic_id="AAAAAAAAAAAAAAAAAAAAAg"))
    found: dict[str, list[str]] = {}
    summaries: dict[str, dict[str, Any]] = {}
    command = [sys.executable, "-m", "kdump", "scan", str(brokers), "--records", "--output", "json", "--engine", "local"]
    command += ["--tables-to", str(tmp_path / "local")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    summaries["local"] = json.loads(done.stdout)
    with contextlib.redirect_stdout(io.StringIO()) as out:  # in the session of these tests
        assert main(["scan", str(brokers), "--records", "--output", "json", "--tables-to", str(tmp_path / "spark")]) == 1
    summaries["spark"] = json.loads(out.getvalue())
    for engine in summaries:
        found[engine] = in_order(pq.read_table(tmp_path / engine / "findings").to_pylist())
        for name in ("tablesTo", "engine", "seconds"):
            del summaries[engine][name]
    assert found["spark"] == found["local"]
    assert summaries["spark"] == summaries["local"]
    expected = {"replica-divergence", "replica-missing-batches", "replica-behind", "txn-marker-missing", "retention-blocked"}
    expected |= {"cleaner-behind", "compaction-duplicate"}
    assert {finding["code"] for finding in summaries["local"]["findings"]} & FLEET == expected
    frames = {
        name: spark.read.parquet(str(tmp_path / "local" / name)) for name in ("batches", "segments", "checkpoints", "records")
    }
    (other,) = [row.asDict() for row in checks.fleet(frames, NOW).collect() if row.code == "scan-not-compared"]
    assert in_order([other])[0] in found["local"]
