"""Forecasts of ordinary logs with ordinary damage, compared with what is known to be left and with the log manager."""

from pathlib import Path

import pytest

from campaigns import boring as campaign
from campaigns import boring_truth
from campaigns.boring_damage import KINDS
from tests import boring
from tests.oracle.restarts import LogManager, Request, Start, why_not_available
from tests.support import skip_if

test_a_forecast_counts_what_a_start_leaves = boring.test_of("forecast")


@pytest.mark.oracle
@pytest.mark.all_cases
def test_the_log_manager_leaves_what_the_model_of_a_start_says(tmp_path: Path) -> None:
    skip_if(why_not_available("4.3.1"))
    shapes = ("4-kib", "lz4-29-kb", "4-kib-transactions", "magic-1-gzip", "magic-1-then-2")
    compared = 0
    different: list[str] = []
    with LogManager("4.3.1") as manager:
        for row, kind in enumerate(list(KINDS)[::2]):
            (shape, _), *_ = campaign.pairs([shapes[row % len(shapes)], "4-kib"], [kind])
            truth = campaign.truth_of(shape, kind, campaign.MIB, 3, boring.SEED)
            model = boring_truth.start(truth, 0)
            if not model.is_known:
                continue
            compared += 1
            record = manager.record(Request(campaign.write(truth, tmp_path / f"orders-{row}")), Start("unclean", 0))
            sizes = record["segments_before" if record["segments"] == "same" else "segments"]
            if (dict(sizes), record["log_end"]) != (model.sizes, model.log_end):
                different.append(f"{shape}, {kind}: {record} instead of {model.sizes}, {model.log_end}")
            if shape not in campaign.WRAPPERS and record.get("lost_records", 0) != model.lost_records:
                different.append(f"{shape}, {kind}: {record.get('lost_records')} instead of {model.lost_records} lost records")
    assert different == []
    assert compared > 10
