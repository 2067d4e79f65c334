"""Records describe what happened to files, and which keywords apply, from the facts of a start alone."""

from typing import Any

from tests.builders.records import batch, record
from tests.oracle import batches, restart_records
from tests.oracle.restart_records import Facts

LOG, INDEX = "00000000000000000000.log", "00000000000000000000.index"


def test_batches_after_damage_are_found() -> None:
    one, other = _batch(0), _batch(1)
    found = list(batches.intact(one[:-1] + b"?" + bytes(5) + other + other[:-3]))
    assert [(batch.first_offset, batch.record_count) for batch in found] == [(1, 1)]


def test_a_cut_segment_loses_what_came_after() -> None:
    before, after = {LOG: _batch(0) + _batch(1)}, {LOG: _batch(0)}
    row = _record(
        before, after, lines=[["WARN", "kafka.log.LogLoader", "Corruption found in segment 0, truncating to offset 1", None]]
    )
    assert (row["outcome"], row["bytes_lost"], row["lost_offsets"], row["data_end"]) == ("cut", 69, [[1, 1]], 1)
    assert row["files"] == [[LOG, "truncated", None, 138, 69, 69]]
    assert row["log"] == ["WARN LogLoader: Corruption found in segment 0, truncating to offset 1"]


def test_a_segment_is_rescanned_when_its_index_is_made() -> None:
    log = _batch(0)
    assert _record({LOG: log}, {LOG: log, INDEX: b""})["outcome"] == "rescan"
    assert _record({}, {LOG: log, INDEX: b""})["outcome"] == "keep"


def test_files_are_deleted_renamed_trimmed_and_rewritten() -> None:
    before = {LOG: b"abc", INDEX: bytes([1]) + bytes(15), "a.swap": b"s", "00000000000000000003.snapshot": b"1", "e": b"1"}
    after = {LOG + ".deleted": b"abc", INDEX: bytes([1]) + bytes(7), "a": b"s", "e": b"2", "f": b""}
    row = _record(before, after, places={LOG: LOG + ".deleted", INDEX: INDEX, "a.swap": "a"})
    assert row["files"] == [
        ["00000000000000000000.index", "trimmed", None, 16, 8, 8],
        ["00000000000000000000.log", "renamed", "00000000000000000000.log.deleted", 3, 3, 3],
        ["00000000000000000003.snapshot", "deleted", None, 1, None, None],
        *(["a.swap", "renamed", "a", 1, 1, 1], ["e", "rewritten", None, 1, 1, 1], ["f", "created", None, None, 0, 0]),
    ]
    assert (row["outcome"], row["segments_gone"]) == ("delete", [LOG])


def test_a_file_that_has_the_name_of_another_is_distinguished_from_it() -> None:
    """A segment is split: the old log is marked, and its first part stands in its place. Another takes the place of a log."""
    before, after = {LOG: b"abc"}, {LOG: b"ab", LOG + ".deleted": b"abc"}
    assert _record(before, after, places={LOG: LOG + ".deleted"})["files"] == [
        [LOG, "renamed", LOG + ".deleted", 3, 3, 3],
        [LOG, "created", None, None, 2, 2],
    ]
    before, after = {LOG: b"abc", LOG + ".swap": b"abc"}, {LOG: b"abc"}
    assert _record(before, after, places={LOG + ".swap": LOG})["files"] == [
        [LOG, "deleted", None, 3, None, None],
        [LOG + ".swap", "renamed", LOG, 3, 3, 3],
    ]


def test_what_was_thrown_comes_before_other_words() -> None:
    thrown = {"class": "java.lang.NullPointerException", "message": None, "cause": None, "place": "Log.load"}
    row = _record({LOG: _batch(0)}, {LOG: b""}, thrown=thrown)
    assert (row["outcome"], row["also"], row["message"], row["thrown_in"]) == ("die", ["rescan"], "null", "Log.load")


def test_offsets_that_another_batch_covers_are_not_lost() -> None:
    row = _record({LOG: _batch(0) + _batch(0) + _batch(1)}, {LOG: _batch(0)})
    assert (row["lost_batches"], row["lost_offsets"]) == (2, [[1, 1]])


def _record(
    before: dict[str, bytes], after: dict[str, bytes], places: dict[str, str] | None = None, **told: Any
) -> dict[str, Any]:
    opened = {name: len(data) for name, data in after.items()}
    intact = list(restart_records.intact_batches(before))
    told = {"thrown": None, "offline": [], "logs": [], "lines": [], **told}
    places = {name: name for name in before if name in after} if places is None else places
    return restart_records.record(Facts(before, opened, after, places, intact, told))


def _batch(offset: int) -> bytes:
    return batch(base_offset=offset, records=[record(value=b"v", timestamp=1_700_000_000_000)])
