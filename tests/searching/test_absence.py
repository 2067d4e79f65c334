"""`absent` is said only where each byte was looked at: what lies at the edges of windows, blocks, batches and directories."""

import errno
import json
import random
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.errors import MissingPackage, Unreadable, UsageError
from kdump.formats import foreign
from kdump.formats.ranges import Range
from kdump.reading import salvage
from kdump.schemas import collection
from kdump.searching import certificate, log_search
from kdump.searching.file_search import _covered_bytes
from kdump.searching.grep import Search
from kdump.searching.log_search import Gap
from kdump.searching.query import Query
from tests.builders.compression import Codec
from tests.builders.files import write_partition
from tests.builders.records import batch, encode_message, message, record, wrapper
from tests.builders.redpanda import NAME, redpanda_batch
from tests.loops import each
from tests.searching.conftest import Run
from tests.searching.test_where import _batch
from tests.searching.test_where_batches import _partition
from tests.support import Patch, let_fail

NEEDLE = b"needle"
WINDOWS = (256 << 10, 1 << 20)  # of the C kernel, and of others


def _answers(path: Path, offsets: Iterable[int]) -> list[str]:
    return [fate.answer for offset in offsets for fate in kdump.where(f"a-0@{offset}", path)]


def _searched(path: Path, pattern: bytes = NEEDLE, **options: Any) -> tuple[list[int | None], str, list[str]]:
    search = kdump.grep(pattern, path, **options)
    hits = [hit.offset for hit in search]
    return hits, search.verdict.verdict, [gap.code for gap in search.not_read]


# --- batches larger than a window


@pytest.mark.both_kernels
@each("kind", ["none", "zstd", "gzip", "mixed", "message"])
@each("where", [None, 0, 1, 2])
def test_a_batch_larger_than_a_window_is_searched_and_so_are_its_neighbors(kind: str, where: int | None, tmp_path: Path) -> None:
    values = [b"v", random.Random(1).randbytes(3 << 20), b"w"]  # which no codec makes smaller
    if where is not None:
        values[where] += NEEDLE
    codecs: dict[str, list[Codec]] = {"zstd": ["zstd"] * 3, "gzip": ["gzip"] * 3, "mixed": ["lz4", "none", "none"]}
    batches = [
        encode_message(message(magic=1, value=value), offset=offset)
        if kind == "message"
        else _batch(offset, value, codec=codecs.get(kind, ["none"] * 3)[offset])
        for offset, value in enumerate(values)
    ]
    assert _searched(_partition(tmp_path, *batches)) == (([], "absent", []) if where is None else ([where], "found", []))


# --- batches that say less than they hold


@pytest.mark.both_kernels
@each("codec", ["none", "gzip", "zstd"])
@each("is_alone", [False, True])
@each("claimed", [0, -1])
def test_a_batch_that_claims_to_be_empty_proves_nothing(codec: Codec, is_alone: bool, claimed: int, tmp_path: Path) -> None:
    hollow = _batch(1, NEEDLE, codec=codec, records_count=claimed)
    around = [] if is_alone else [_batch(0, b"v"), _batch(2, b"v")]
    path = _partition(tmp_path, *around[:1], hollow, *around[1:])
    hits, verdict, codes = _searched(path)
    assert (hits, verdict, "record-count-too-low" in codes, _answers(path, [1])) == ([], "not proven", True, ["damaged"])
    path.joinpath(f"{0:020}.log").rename(path / f"{0:020}.log.deleted")
    (path / f"{0:020}.log").write_bytes(_batch(0) + _batch(1))
    found = kdump.where("a-0@1", path)
    assert ([fate.answer for fate in found], found.is_certain) == (["present"], False)


@pytest.mark.both_kernels
def test_a_batch_that_says_it_has_fewer_records_than_it_has_proves_nothing(tmp_path: Path) -> None:
    short = batch(base_offset=1, records=[record(value=b"v"), record(value=b"w")], records_count=1)
    assert _searched(_partition(tmp_path, _batch(0), short, _batch(3)))[:2] == ([], "not proven")
    large = [record(value=bytes(9 << 20)), record(value=b"w")]  # which is not decompressed at once
    path = _partition(tmp_path / "large", batch(records=large, records_count=1, codec="gzip"))
    assert _searched(path)[:2] == ([], "not proven")


@pytest.mark.both_kernels
@each("magic", [0, 1])
@each("left", [1, 11, 12, -1])
def test_a_wrapper_that_ends_inside_a_message_proves_nothing(magic: int, left: int, tmp_path: Path) -> None:
    """What is cut may have held the text, however little of it is left."""
    rest = encode_message(message(magic=magic, value=b"w"), offset=1)[:left]
    cut = wrapper(messages=[message(magic=magic, value=b"v")], magic=magic, trailing=rest)
    assert _searched(_partition(tmp_path, cut)) == ([], "not proven", ["wrapper-cut"])


@each("magic", [0, 1])
def test_a_message_whose_checksum_does_not_fit_inside_a_sound_wrapper_proves_nothing(magic: int, tmp_path: Path) -> None:
    data = wrapper(messages=[message(magic=magic, value=b"v"), message(magic=magic, value=b"w", crc=1)], magic=magic)
    assert _searched(_partition(tmp_path, data)) == ([], "not proven", ["crc-mismatch"])
    salvaged = _searched(_partition(tmp_path / "salvaged", _batch(0), b"\xff" * 300, data))
    assert salvaged == ([], "not proven", ["garbage-region", "crc-mismatch"])


@pytest.mark.parametrize("change", ["io-error", "appended", "rewritten", "file-shrank", "file-missing"])
def test_a_log_that_is_not_read_to_its_end_or_changes_proves_nothing(change: str, tmp_path: Path, monkeypatch: Patch) -> None:
    walk = salvage.walk
    code = {"appended": "file-changed", "rewritten": "file-changed"}.get(change, change)

    def walked(source: Any, **given: Any) -> Iterator[Any]:
        if code == "file-shrank":
            raise Unreadable(code, "shrank", path=source.path)
        yield from walk(source, **given)
        if code == "io-error":
            source.bad_ranges += [(70, 75), (80, 85)]
        elif code == "file-changed":
            with Path(source.path).open("ab" if change == "appended" else "r+b") as file:
                file.write(b"more")

    monkeypatch.setattr(salvage, "walk", walked)
    path = _partition(tmp_path, batch(records=[record(value=b"v")]))
    if code == "io-error":
        found = kdump.where("a-0@0", path)
        assert [fate.answer for fate in found] == ["present"] and not found.is_certain
    search = Search([str(path)], Query(NEEDLE), proves_absence=True)
    if code == "file-missing":
        next(path.glob("*.log")).unlink()
    assert list(search) == []
    codes = [code] * (1 + (code == "io-error"))
    assert (search.verdict.verdict, [gap.code for gap in search.not_read]) == ("not proven", codes)
    assert search.verdict.not_read_bytes == {"io-error": 10}.get(code, search.verdict.bytes)


@pytest.mark.both_kernels
@each("added", [-1, 1, 1 << 20])
def test_a_batch_whose_length_is_wrong_proves_nothing_though_it_is_read(added: int, tmp_path: Path) -> None:
    sound = _batch(1, b"v" * 100)
    path = _partition(tmp_path, _batch(0), sound[:8] + (len(sound) - 12 + added).to_bytes(4, "big") + sound[12:], _batch(2))
    assert _searched(path) == ([], "not proven", ["batch-length-mismatch"])
    assert _searched(path, b"vv") == ([1], "found", ["batch-length-mismatch"])


def test_a_proof_takes_nothing_that_would_leave_a_part_unread(tmp_path: Path) -> None:
    path = str(_partition(tmp_path, _batch(0)))
    parts: list[dict[str, Any]] = [{"limit": 1}, {"stops_at_hit": True}, {"partition_count": 1}]
    ranges = [Range(from_offset=0), Range(to_offset=9), Range(from_time=0), Range(to_time=9)]
    for given, wanted in [*((part, Range()) for part in parts), *(({}, part) for part in ranges)]:
        with pytest.raises(UsageError, match="reads everything"):
            Search([path], Query(NEEDLE, range=wanted), proves_absence=True, **given)


def test_context_is_what_lies_around_each_match_once_and_in_order(tmp_path: Path) -> None:
    """Of many choices of matches among ten records, in five parts of a log."""
    chance = random.Random(62)
    for number in range(40):
        matches = {offset for offset in range(10) if chance.random() < 0.25}
        values = [NEEDLE if offset in matches else b"v" for offset in range(10)]
        pairs = (batch(base_offset=at, records=[record(value=value) for value in values[at : at + 2]]) for at in range(0, 10, 2))
        path = _partition(tmp_path / str(number), *(part for pair in pairs for part in (pair, b"\xff" * 300)))
        for count in (1, 2, 3):
            search = Search([str(path)], Query(NEEDLE), context=count)
            shown = [(hit.offset, bool(hit.matched)) for hit in search]
            near = [offset for offset in range(10) if any(abs(offset - match) <= count for match in matches)]
            assert shown == [(offset, offset in matches) for offset in near]


def test_what_was_not_read_or_left_is_counted_over_all_files(tmp_path: Path) -> None:
    hit, bad = batch(records=[record(value=NEEDLE)] * 2), _batch(2, crc=1)
    for number, data in enumerate(([hit, bad, bad], [bad], [_batch(0)])):
        write_partition(tmp_path, topic="a", partition=number, segments={0: data})
    search = Search([str(tmp_path)], Query(NEEDLE), stops_at_hit=True)
    assert (len(list(search)), search.verdict.is_whole) == (1, False)
    search = Search([str(tmp_path)], Query(NEEDLE))
    assert (len(list(search)), search.verdict.is_whole, search.verdict.not_read_bytes) == (2, True, 3 * len(bad))
    assert [gap.start for gap in search.not_read] == [len(hit), len(hit) + len(bad), 0]
    assert [file.not_read for file in search.files] == [2, 1, 0]


def test_faults_that_are_too_many_to_list_are_one_that_reaches_to_the_last(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(log_search, "_MAX_GAPS", 2)
    batches = [_batch(row, crc=1 if row % 2 else None) for row in range(8)]
    search = kdump.grep(NEEDLE, _partition(tmp_path, *batches))
    assert (list(search), search.verdict.verdict) == ([], "not proven")
    size, faults = len(batches[0]), ("crc-mismatch", "too-many-faults")
    expected = [(faults[0], size, 2 * size, 1, 2), (faults[1], 3 * size, 8 * size, None, None)]
    assert [(gap.code, gap.start, gap.end, gap.offset, gap.next_offset) for gap in search.not_read] == expected


def test_a_limit_is_one_of_the_whole_file(tmp_path: Path) -> None:
    pairs = [batch(base_offset=offset, records=[record(value=NEEDLE)] * 2) for offset in (0, 2, 4)]
    _partition(tmp_path, pairs[0], b"\xff" * 300, pairs[1], b"\xff" * 300, pairs[2])
    write_partition(tmp_path, topic="b", segments={0: pairs})
    for limit in range(1, 13):
        search = kdump.grep(NEEDLE, tmp_path, limit=limit)
        assert [hit.offset for hit in search] == [*range(6), *range(6)][:limit]
        assert (search.verdict.is_whole, search.verdict.files) == (False, 1 + (limit > 6))


def test_bytes_of_several_faults_are_counted_once() -> None:
    assert _covered_bytes([Gap(5, 15, "a", ""), Gap(0, 10, "b", ""), Gap(2, 3, "c", ""), Gap(20, 21, "d", "")]) == 16


# --- edges of windows and blocks


SHIFTS = range(-len(NEEDLE), 1)  # of the text against an edge: before it, across it, after it


@pytest.mark.both_kernels
@pytest.mark.parametrize("edge", WINDOWS)
def test_a_text_across_two_windows_is_found(edge: int, tmp_path: Path) -> None:
    """In a batch that is larger than a window: edges are counted from its first record on."""
    path = tmp_path / "00000000000000000000.log"
    for shift in SHIFTS:
        path.write_bytes(batch(records=[record(value=_value_with_needle(edge + shift, WINDOWS[-1] + 2000))]))
        assert _searched(path) == ([0], "found", []), shift


@pytest.mark.both_kernels
def test_a_producer_is_found_among_others_with_lower_and_higher_ids(tmp_path: Path) -> None:
    path = _partition(tmp_path, *(_batch(row, producer_id=number) for row, number in enumerate((7, 8, -1, 9))))
    found = {number: [hit.offset for hit in kdump.grep(None, path, producer=number)] for number in (6, 7, 8, 9, 10)}
    assert found == {6: [], 7: [0], 8: [1], 9: [3], 10: []}
    search = Search([str(path)], Query(producer_id=8), context=1)
    assert [(hit.offset, bool(hit.matched)) for hit in search] == [(0, False), (1, True), (2, False)]


def _value_with_needle(place: int, size: int) -> bytes:
    """A value in which the text stands at a place, counted from the start of its record, which has 12 bytes before its value."""
    at = place - 12
    return b"x" * at + NEEDLE + b"x" * (size - at - len(NEEDLE))


# --- what lies beside the logs


def test_snapshots_of_metadata_are_searched(tmp_path: Path) -> None:
    path = write_partition(tmp_path, topic="__cluster_metadata", segments={5: [batch(base_offset=5, records=[record()])]})
    (path / "00000000000000000005-0000000001.checkpoint").write_bytes(batch(records=[record(value=NEEDLE)]))
    (tmp_path / "bootstrap.checkpoint").write_bytes(batch(records=[record(), record(value=NEEDLE)]))
    for root, offsets in ((path, [0]), (tmp_path, [0, 1]), (tmp_path / "bootstrap.checkpoint", [1])):
        assert [_searched(root, prove_absent=proves)[:2] for proves in (True, False)] == [(offsets, "found")] * 2
    (path / "00000000000000000005-0000000001.checkpoint").rename(path / "00000000000000000005-0000000001.checkpoint.deleted")
    assert [_searched(path, prove_absent=proves)[:2] for proves in (True, False)] == [([0], "found"), ([], "not proven")]


def test_a_link_that_leads_out_proves_nothing(tmp_path: Path) -> None:
    path = _partition(tmp_path / "data", _batch(0))
    outside = tmp_path / "outside"
    outside.write_bytes(batch(records=[record(value=NEEDLE)]))
    (path / "old.backup").symlink_to(outside)
    assert _searched(path, prove_absent=True) == ([], "not proven", ["file-link-outside"])
    assert _searched(path) == ([], "absent", [])
    (path / "00000000000000000005.log").symlink_to(outside)
    assert _searched(path) == ([], "not proven", ["file-link-outside"])


def test_segments_in_remote_storage_prove_nothing(tmp_path: Path, monkeypatch: Patch) -> None:
    _partition(tmp_path, _batch(0))
    cache = tmp_path / "remote-log-index-cache"
    cache.mkdir()
    assert _searched(tmp_path, prove_absent=True) == ([], "absent", [])
    copy = tmp_path / "a-0" / "copy.log"
    copy.write_bytes(_batch(0, NEEDLE))
    assert _searched(tmp_path) == ([0], "found", [])
    copy.unlink()
    (tmp_path / "again").symlink_to(tmp_path / "a-0")  # where all was read
    (tmp_path / "d/d").mkdir(parents=True)
    (tmp_path / "d/d/notes.log").write_bytes(NEEDLE)  # of somebody else
    assert _searched(tmp_path) == ([], "absent", [])
    (cache / "5_id.index").write_bytes(bytes(8))
    assert _searched(tmp_path, prove_absent=True) == ([], "not proven", ["remote-segments"])
    assert _searched(tmp_path) == ([], "absent", [])
    let_fail(monkeypatch, "scandir", cache, error=errno.EACCES)
    assert _searched(tmp_path, prove_absent=True) == ([], "not proven", ["remote-segments"])


@pytest.mark.parametrize(
    ("place", "code"),
    [
        *((f"{folder}/{0:020}.log", "file-not-examined") for folder in (f"{'d/' * 40}a-0", "a-0/b-0", "a-0/c")),
        (f"a-0/{NAME}", foreign.CODE),
    ],
)
def test_logs_that_are_passed_over_prove_nothing(place: str, code: str, tmp_path: Path) -> None:
    _partition(tmp_path / "data", _batch(0))
    path = tmp_path / "data" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    data = batch(records=[record(value=NEEDLE)])
    path.write_bytes(redpanda_batch(data) if code == foreign.CODE else data)
    hits, verdict, codes = _searched(tmp_path / "data")
    assert (hits, verdict, set(codes)) == ([], "not proven", {code})


@each("depth", [1, 40])
def test_directories_that_cannot_be_listed_prove_nothing_however_deep(depth: int, tmp_path: Path, monkeypatch: Patch) -> None:
    _partition(tmp_path, _batch(0))
    locked = [tmp_path / ("d/" * depth + name) for name in ("x", "y")]
    for path in locked:
        path.mkdir(parents=True)
    let_fail(monkeypatch, "scandir", *locked, error=errno.EACCES)
    search = kdump.grep(NEEDLE, tmp_path)
    assert (list(search), search.verdict.verdict) == ([], "not proven")
    assert {(gap.file, gap.code) for gap in search.not_read} == {(str(path), "directory-unlisted") for path in locked}


def test_what_could_not_be_searched_now_is_no_proof_that_nothing_has_changed(run: Run, tmp_path: Path) -> None:
    path, outside = _partition(tmp_path / "data", _batch(0)), tmp_path / "outside"
    outside.write_bytes(batch(records=[record(value=NEEDLE)]))
    assert run("--prove-absent", "--certificate", tmp_path / "c.json", "x", tmp_path / "data")[0] == 1
    assert run("--verify", tmp_path / "c.json")[0] == 0
    (path / "00000000000000000005.log").symlink_to(outside)
    code, out, _ = run("--verify", tmp_path / "c.json")
    assert code == 3
    assert "a link that leads out" in out
    (path / "00000000000000000005.log").unlink()
    for name, expected in (("00000000000000000005.log.deleted", 1), ("copy.bak", 3)):  # what a proof reads, or fails on
        (path / name).write_bytes(outside.read_bytes())
        assert run("--verify", tmp_path / "c.json")[0] == expected
        (path / name).unlink()
    (path / "copy.bak").write_bytes(b"x")
    assert run("--prove-absent", "--certificate", tmp_path / "d.json", "x", tmp_path / "data")[0] == 3
    code, out, _ = run("--verify", tmp_path / "d.json")
    assert (code, "copy.bak" in out) == (3, False), "it was not read then, either"


def test_a_certificate_is_not_written_anywhere_into_what_is_read(run: Run, tmp_path: Path) -> None:
    data, link = tmp_path / "data", tmp_path / "link"
    _partition(data, _batch(0))
    link.symlink_to(data)
    for searched in (data, link):
        for folder in (data, link, data / "a-0", link / "a-0" / "."):
            assert run("--prove-absent", "--certificate", folder / "c.json", "x", searched)[0] == 2
    assert not list(data.glob("**/*.json"))
    beside = tmp_path / "data.json"  # its name begins alike
    assert run("--prove-absent", "--certificate", beside, "-i", "x", data)[0] == 1
    assert (body := json.loads(beside.read_text()))["verdict"] == "absent" and body["options"]["ignoresCase"]


def test_a_proof_looks_at_names_of_headers_and_at_chosen_partitions_that_are_to_be_deleted(run: Run, tmp_path: Path) -> None:
    _partition(tmp_path / "data", batch(records=[record(headers=[(NEEDLE, b"v")])]))
    for partition, state in ((1, "delete"), (2, "stray")):
        going = write_partition(tmp_path / "data", topic="a", partition=partition, segments={0: [_batch(0, NEEDLE)]})
        going.rename(going.with_name(f"a-{partition}.{'0' * 32}-{state}"))
    words = ("--topics", "a", "--output", "ndjson", "needle", tmp_path / "data")
    rows = map(json.loads, run("--prove-absent", "--certificate", tmp_path / "c.json", *words)[1].splitlines())
    matched = [(row["partition"], row["matched"]) for row in rows if row["kind"] == "hit"]
    assert sorted(matched) == [(0, ["header-name:needle"]), (1, ["value"]), (2, ["value"])]


# --- offsets of what was not read


def test_the_unread_offsets_of_a_batch_that_claims_the_next_one_are_those_before_it(tmp_path: Path) -> None:
    path = _partition(tmp_path, batch(records=[record()] * 3), _batch(5, b"v", crc=1), _batch(5))
    search = kdump.grep(NEEDLE, path)
    assert list(search) == []
    assert [(gap.offset, gap.next_offset) for gap in search.not_read] == [(3, 5)]
    later = kdump.grep(NEEDLE, write_partition(tmp_path / "b", segments={7: [b"\xff" * 300, _batch(8)]}))
    assert (list(later), [(gap.offset, gap.next_offset) for gap in later.not_read]) == ([], [(7, 8)])
    assert _answers(path, range(2, 6)) == ["present", "damaged", "damaged", "present"]


def test_a_copy_has_no_gap_from_its_end_on_and_all_copies_say_where_the_log_is(tmp_path: Path) -> None:
    """Whatever the checkpoint of its cleaner says."""
    whole, cleaned = tmp_path / "data" / "whole", tmp_path / "data" / "cleaned"
    _partition(whole, *(_batch(offset, b"v") for offset in range(8)))
    write_partition(cleaned, topic="a", segments={1: [_batch(offset, b"v") for offset in (1, 3, 4)]})
    (cleaned / "cleaner-offset-checkpoint").write_text("0\n1\na 0 9\n")
    (whole / "a-0" / f"{0:020}.log.deleted").touch()
    expected = ["present", "present", "compacted", "present", "present", "only-on", "only-on", "only-on", "not-written"]
    for copies in ((whole, cleaned), (cleaned, whole), (tmp_path / "data",)):
        fates = [fate for offset in range(9) for fate in kdump.where(f"a-0@{offset}", *copies)]
        assert [fate.answer for fate in fates] == expected
        assert {(fate.log_start, fate.log_end) for fate in fates} == {(0, 8)}
    assert sorted(fates[1].copies) == [str(cleaned / "a-0"), str(whole / "a-0")], "the path is that of both"


AT_4_AND_5 = {5: ["compacted", "missing"], 6: ["compacted", "compacted"], 4: ["missing", "missing"]}


@each("checkpoint, answers", AT_4_AND_5.items(), ids=str)
def test_a_gap_at_the_checkpoint_of_the_cleaner_is_missing(checkpoint: int, answers: list[str], tmp_path: Path) -> None:
    path = _partition(tmp_path, *map(_batch, (0, 1, 2, 3, 6)))
    (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\na 0 {checkpoint}\n")
    assert _answers(path, (4, 5)) == answers


@each("crc, checkpoint, answer, superseded_by", [(None, 4, "compacted", 3), (1, 4, "only-on", None), (None, 3, "only-on", None)])
def test_what_is_damaged_or_after_the_checkpoint_does_not_show_that_a_record_was_replaced(
    crc: int | None, checkpoint: int, answer: str, superseded_by: int | None, tmp_path: Path
) -> None:
    """The only copy that still has the record is the one that is damaged later on."""
    first, last = _batch(0, b"v"), _batch(4, b"v")
    lost = batch(base_offset=1, records=[record(key=b"k", value=b"1")])
    replaced = batch(base_offset=3, records=[record(key=b"k", value=b"2")], crc=crc)
    _partition(tmp_path / "cleaned", first, last)
    (tmp_path / "cleaned" / "cleaner-offset-checkpoint").write_text(f"0\n1\na 0 {checkpoint}\n")
    _partition(tmp_path / "other", first, lost, replaced, last)
    (tmp_path / "other" / "a-0" / f"{1:020}.log.deleted").write_bytes(lost)
    (fate,) = kdump.where("a-0@1", tmp_path / "cleaned", tmp_path / "other")
    assert (fate.answer, fate.superseded_by) == (answer, superseded_by)
    assert [place.is_going for place in fate.places] == [False, *[True] * (answer == "compacted")]


def test_an_epoch_starts_where_its_first_batch_is_though_the_checkpoint_says_that_it_is_later(tmp_path: Path) -> None:
    reference, other = tmp_path / "reference", tmp_path / "other"
    _partition(reference, *(_batch(row, partition_leader_epoch=row > 2) for row in range(6)))
    (reference / "a-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 5\n")
    _partition(other, *(_batch(row, partition_leader_epoch=0) for row in range(5)))
    (fate,) = kdump.where("a-0@3", reference, other)
    assert [also["copies"] for also in fate.also] == [[str(other)]]


def test_a_key_that_no_copy_has_may_be_in_what_is_damaged(tmp_path: Path) -> None:
    path = _partition(tmp_path, batch(records=[record(key=b"a")]), batch(base_offset=1, records=[record(key=b"b")], crc=1))
    found = kdump.where(None, path, key="c")
    assert [(fate.answer, fate.damaged_on) for fate in found] == [("not-found", [str(path)])]
    assert not found.is_certain


# --- progress


def test_the_progress_goes_on_from_file_to_file(tmp_path: Path) -> None:
    sizes = []
    for topic in ("a", "b", "c"):
        path = write_partition(tmp_path, topic=topic, segments={0: [batch(records=[record(value=b"v" * 100)])] * 3})
        sizes.append((path / "00000000000000000000.log").stat().st_size)
    drawn: list[tuple[int, int]] = []
    search = Search([str(tmp_path)], Query(NEEDLE), progress=lambda done, of: drawn.append((done, of)))
    assert list(search) == []
    assert drawn == sorted(drawn)
    assert {of for _, of in drawn} == {sum(sizes)}
    assert drawn[-1][0] >= sizes[0] + sizes[1]


# --- what counts as looked at, and what is said of it


def test_only_names_that_brokers_give_are_passed_over_in_a_proof(tmp_path: Path) -> None:
    path = _partition(tmp_path, batch(records=[record()]))
    (path / "empty").touch()
    suffixes = ("index", "timeindex", "txnindex", "snapshot")
    of_kafka = [*(f"{7:020}.{suffix}" for suffix in suffixes), "leader-epoch-checkpoint", "partition.metadata", ".lock"]
    for name in (*of_kafka, *(f"notes.{suffix}" for suffix in suffixes), "notes-checkpoint", "copy.bak"):
        (path / name).write_bytes(NEEDLE)
        expected = ("absent", []) if name in of_kafka else ("not proven", ["file-not-recognized"])
        assert _searched(path, prove_absent=True)[1:] == expected, name
        (path / name).unlink()


def test_each_batch_whose_codec_is_missing_is_named(tmp_path: Path, monkeypatch: Patch) -> None:
    def missing(*_arguments: object) -> None:
        raise MissingPackage("gzip needs a package")

    batches = [batch(base_offset=row, records=[record()], codec="none" if row == 2 else "gzip") for row in range(5)]
    path = _partition(tmp_path, *batches)
    monkeypatch.setattr("kdump.binary.codecs._module", missing)
    search = kdump.grep(NEEDLE, path)
    assert (list(search), search.verdict.verdict) == ([], "not proven")
    gaps = [("codec-missing", row, row + 1) for row in (0, 1, 3, 4)]
    assert [(gap.code, gap.offset, gap.next_offset) for gap in search.not_read] == gaps
    noted = certificate.made(search, [str(path)], {})["notRead"]
    assert [(gap["code"], gap["offset"], gap["nextOffset"]) for gap in noted] == gaps


def test_matches_in_damaged_batches_and_messages_are_counted_wherever_these_stand(tmp_path: Path) -> None:
    for number, (is_wrapper, *are_damaged) in enumerate(product((False, True), repeat=4)):
        crcs = [1 if is_damaged else None for is_damaged in are_damaged]
        if is_wrapper:  # its own CRC fits
            messages = [message(value=NEEDLE, magic=1, crc=crc) for crc in crcs for _ in range(2)]
            batches = [wrapper(messages=messages)]
        else:
            batches = [batch(base_offset=2 * row, records=[record(value=NEEDLE)] * 2, crc=crc) for row, crc in enumerate(crcs)]
        search = kdump.grep(NEEDLE, _partition(tmp_path / str(number), *batches))
        damaged = [offset for offset in range(6) if are_damaged[offset // 2]]
        assert [hit.offset for hit in search if hit.status == "damaged"] == damaged
        assert (search.verdict.hits, search.verdict.damaged_hits) == (6, len(damaged))


def test_a_certificate_of_two_paths_follows_each_of_them(run: Run, tmp_path: Path) -> None:
    """Though the name of one begins with that of the other, and the other's new name with its own."""
    for name in ("data", "data-2"):
        _partition(tmp_path / name, batch(records=[record(value=name.encode())]))
    place = tmp_path / "c.json"
    assert run("--prove-absent", "--certificate", place, "x", tmp_path / "data", tmp_path / "data-2")[0] == 1
    (tmp_path / "data").rename(tmp_path / "b")
    (tmp_path / "data-2").rename(tmp_path / "data")
    assert run("--verify", place, tmp_path / "b", tmp_path / "data")[0] == 0
    assert run("--verify", place, tmp_path / "data", tmp_path / "b")[0] == 1


def test_a_place_of_schemas_that_cannot_be_listed_now_may_have_new_ones(monkeypatch: Patch) -> None:
    def unlisted(place: str) -> list[str]:
        raise Unreadable("file-io-error", "Input/output error", path=place)

    monkeypatch.setattr(collection, "files_at", unlisted)
    body = {"paths": ["/d"], "files": [], "notRead": [], "schemas": {"places": ["/schemas"], "files": []}}
    assert [(row.file, row.status) for row in certificate.verified(body)] == [("/schemas", "unreadable")]


def test_sequences_are_only_said_to_be_missing_where_all_of_the_newest_log_was_read(tmp_path: Path) -> None:
    def of(offset: int, sequence: int, epoch: int = 0, crc: int | None = None, of_producer: int = 0) -> bytes:
        producer: dict[str, Any] = {"producer_id": 5, "producer_epoch": of_producer, "base_sequence": sequence}
        return batch(base_offset=offset, records=[record()], partition_leader_epoch=epoch, crc=crc, **producer)

    gap = [{"producerId": 5, "producerEpoch": 0, "first": 1, "last": 2}]
    logs = {
        "whole": ([of(0, 0), of(1, 3)], gap),
        "damaged": ([of(0, 0), of(1, 1, crc=1), of(2, 3)], []),
        "later": ([of(0, 0, epoch=1), of(1, 2, epoch=1)], [{**gap[0], "last": 1}]),
        "longer": ([of(0, 0), of(1, 1), of(2, 2)], []),
        "restarted": ([of(0, 0), of(1, 2, of_producer=1)], [{**gap[0], "producerEpoch": 1, "first": 0, "last": 1}]),
    }
    paths = {name: _partition(tmp_path / name, *batches) for name, (batches, _) in logs.items()}
    for name, (_, missing) in logs.items():
        assert next(iter(kdump.where("a-0@9", paths[name]))).missing_sequences == missing, name
    for names, newest in (("whole", "longer"), "longer"), (("longer", "later"), "later"):
        (fate,) = kdump.where(None, *(paths[name] for name in names), key="none has it")
        assert fate.missing_sequences == logs[newest][1]
    (paths["whole"] / "leader-epoch-checkpoint").write_text("0\n2\n")
    assert next(iter(kdump.where("a-0@9", paths["whole"]))).missing_sequences == [], "not all was read"
