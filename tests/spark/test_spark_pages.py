"""The Python and SQL of the pages about sessions run as they stand there."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cookbook_fleet import write_cookbook_fleet
from tests.sessions import ROOT, why_no_spark

pytestmark = [pytest.mark.spark, pytest.mark.skipif(bool(why_no_spark()), reason=why_no_spark())]

_BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where the pages' `/data` is here: three brokers."""
    write_cookbook_fleet(tmp_path / "brokers")
    for broker in sorted((tmp_path / "brokers").iterdir()):
        (tmp_path / broker.name).symlink_to(broker)
    return tmp_path


@pytest.mark.parametrize(
    ("page", "section", "count"), [("spark-sessions.md", "# Spark: releases", 4), ("fleet.md", "## In your own Spark session", 1)]
)
def test_the_code_of_pages_runs(
    spark: Any,
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    section: str,
    count: int,
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # which a page sets
    text = (ROOT / "docs" / page).read_text()
    blocks = _BLOCK.findall(text[text.index(section) :])
    assert len(blocks) == count
    names: dict[str, Any] = {"spark": spark}
    for language, code in blocks:
        here = code.replace("/data/", f"{data}/")
        if language == "sql":
            spark.catalog.dropTempView("batches")  # of another test in this session
            names["spark"].sql(here)
            assert names["spark"].table("batches").count() == 127
        else:
            exec(here, names)
        query = names.pop("query", None)
        if query is not None:
            try:
                query.processAllAvailable()
            finally:
                query.stop()
            newest = 40  # records after the damage in the newest segment of a log wait until it is closed
            assert spark.read.parquet(str(data / "records")).count() == 498 - newest
    assert "orders" in capsys.readouterr().out
