"""Exports of logs with damage everywhere: small tables do not keep what they were read from."""

from pathlib import Path

import pytest

from campaigns.hostile_files import written
from tests import kernels
from tests.builders.hostile import HOSTILE


def test_rows_between_damage_are_held_in_few_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    from kdump.cli.listing import export  # needs Arrow
    from kdump.output.arrow.builder import MOST_HELD

    (zeros,) = [one for one in HOSTILE if one.name == "zeros between batches"]
    count = 3 * MOST_HELD
    path, out = written(zeros, count, tmp_path), tmp_path / "out.parquet"
    held: list[int] = []
    write = export._Rows.write

    def noting(rows: export._Rows, batch: object) -> None:
        write(rows, batch)
        held.append(len(rows._held))

    monkeypatch.setattr(export._Rows, "write", noting)
    kernels.listed(["log", "--deep", "--output", "parquet", "-o", out, path])
    assert parquet.read_table(out)["offset"].to_pylist() == list(range(count))
    assert len(held) == count
    assert max(held) < MOST_HELD
