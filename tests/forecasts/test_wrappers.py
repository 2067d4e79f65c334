"""Forecasts of logs of wrapper messages, which a broker decompresses to find an offset."""

from pathlib import Path
from unittest import mock

import pytest

from kdump.forecasts import batches
from kdump.forecasts.directory import Directory, File
from kdump.forecasts.forecast import forecast
from kdump.formats import message_set
from tests.builders.records import message, wrapper

BASE = 1000
COUNT = 200


def _log(folder: Path) -> Path:
    """Wrappers of magic 0 in a segment whose base offset is above the offsets in all but the last of them."""
    folder.mkdir()
    inside = [message(value=b"v", magic=0)] * 2
    wrappers = [
        wrapper(messages=inside, magic=0, offset=BASE + 2 * number + 1, inner_offsets=[2 * number, 2 * number + 1])
        for number in range(COUNT)
    ]
    last = BASE + 2 * COUNT
    wrappers.append(wrapper(messages=inside, magic=0, offset=last + 1, inner_offsets=[last, last + 1]))
    (folder / f"{BASE:020}.log").write_bytes(b"".join(wrappers))
    return folder


def test_what_a_start_found_among_wrappers_is_not_searched_again_for_the_next(tmp_path: Path) -> None:
    folder = _log(tmp_path / "t-0")
    with mock.patch.object(message_set, "unwrap", side_effect=message_set.unwrap) as unwrapped:
        starts = list(forecast(str(folder)))
    assert len(starts) >= 2
    assert COUNT < unwrapped.call_count < 2 * COUNT


@pytest.mark.parametrize("base", [0, 3])
def test_the_position_of_an_offset_is_the_same_when_it_is_asked_for_again(tmp_path: Path, base: int) -> None:
    folder = _log(tmp_path / "t-0")
    directory = Directory.of(str(folder))
    size = next(iter(directory.before.values()))
    for again in (directory, directory.again()):
        log = batches.LogReader(again, next(iter(again.files.values())))
        for target in (base, 7, 150, BASE - 1, BASE, BASE + 2 * COUNT, BASE + 2 * COUNT + 1, BASE + 2 * COUNT + 2):
            found = batches.find(log, target, 0, by_first_offset=True)
            firsts = [(one.first_offset(), one.last_offset(), one.position) for one in log.batches()]
            before = [one for one in firsts if one[0] <= target]
            after = [one for one in firsts if one[0] > target]
            expected = next((position for first, _, position in firsts if first == target), None)
            if expected is None:
                holds = bool(before) and before[-1][1] >= target
                expected = before[-1][2] if holds else after[0][2] if after else None
            assert found == expected, target
    shorter = batches.LogReader(directory, File(log.path, size - 10))
    assert batches.find(shorter, BASE + 2 * COUNT, 0, by_first_offset=True) is None
    directory.close()
