"""The short form of the campaign of ordinary logs with ordinary damage."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any  # rows of a parametrized test

import pytest

from campaigns import boring, boring_truth
from campaigns.boring_damage import KINDS
from tests.loops import of_all_cases
from tests.oracle.restarts import LogManager, Request, Start, why_not_available
from tests.support import skip_if

SEED = 1


def _share() -> Iterator[Any]:
    """The cases; of those kinds that are there with several shapes, only some with each run by default."""
    for shape, kind in boring.short_cases():
        row = boring.SHORT_SHAPES.index(shape) + boring.SHORT_KINDS.index(kind) if kind in boring.SHORT_KINDS else 0
        yield of_all_cases(shape, kind) if row % 4 else (shape, kind)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "kind"), list(_share()))
def test_answers_about_ordinary_damage_are_those_of_the_truth(shape: str, kind: str) -> None:
    way = boring.short_way(shape, kind)
    wrong = [
        f"{fault}\n    {_again(shape, kind, kernel, sizes, command)}"
        for kernel, sizes, command, fault in boring.wrong(
            shape, kind, boring.short_size(shape), SEED, list(boring.COMMANDS), [way]
        )
    ]
    assert wrong == [], "\n".join(wrong)


def _again(shape: str, kind: str, kernel: str, sizes: str, command: str) -> str:
    """The command line that runs a case again."""
    return boring.again(boring.short_size(shape) / boring.MIB, SEED, shape, kind, kernel, sizes, command)


@pytest.mark.oracle
@pytest.mark.all_cases
def test_the_log_manager_leaves_what_the_model_of_a_start_says(tmp_path: Path) -> None:
    skip_if(why_not_available("4.3.1"))
    shapes = ("4-kib", "lz4-29-kb", "4-kib-transactions", "magic-1-gzip", "magic-1-then-2")
    compared = 0
    different: list[str] = []
    with LogManager("4.3.1") as manager:
        for row, kind in enumerate(list(KINDS)[::2]):
            (shape, _), *_ = boring.pairs([shapes[row % len(shapes)], "4-kib"], [kind])
            truth = boring.truth_of(shape, kind, boring.MIB, 3, SEED)
            model = boring_truth.start(truth, 0)
            if not model.is_known:
                continue
            compared += 1
            record = manager.record(Request(boring.write(truth, tmp_path / f"orders-{row}")), Start("unclean", 0))
            sizes = record["segments_before" if record["segments"] == "same" else "segments"]
            if (dict(sizes), record["log_end"]) != (model.sizes, model.log_end):
                different.append(f"{shape}, {kind}: {record} instead of {model.sizes}, {model.log_end}")
            if shape not in boring.WRAPPERS and record.get("lost_records", 0) != model.lost_records:
                different.append(f"{shape}, {kind}: {record.get('lost_records')} instead of {model.lost_records} lost records")
    assert different == []
    assert compared > 10
