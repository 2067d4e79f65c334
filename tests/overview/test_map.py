"""`kdump map`: each kind of damage, each finding and each epoch is drawn at its place, in any width."""

import json
import shutil
import struct
import sys
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import kdump
from kdump.binary.java_strings import escaped
from kdump.cli import commands
from kdump.output.html.picture import svg_of
from kdump.output.rows.columns import width_of
from kdump.output.text.map import write_maps
from kdump.output.text.style import ReportStyle
from kdump.overview.map_rows import AXES, PLOTS, MapMark, MapSegment, MapSpan
from kdump.overview.map_scale import MapScale
from kdump.overview.partition_map import PartitionMap, partition_map
from tests.builders import redpanda
from tests.builders.files import write_partition
from tests.builders.records import Record, batch, transaction_marker
from tests.loops import each
from tests.support import without_modules

CASES = Path("golden_outputs/cases")
COUNT = 100  # batches of a segment
START = 1_700_000_000_000


def _batch(offset: int, epoch: int = 0) -> bytes:
    """A batch of one record of 100 bytes, one second after the one before it."""
    return batch(
        base_offset=offset, base_timestamp=START + 1000 * offset, records=[Record(value=bytes(100))], partition_leader_epoch=epoch
    )


SIZE = len(_batch(0))


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Two segments of 100 batches of one size each; the second has epoch 3 from its half on."""
    segments = {
        first: [_batch(offset, 3 if offset >= 150 else 0) for offset in range(first, first + COUNT)] for first in (0, COUNT)
    }
    return write_partition(tmp_path, segments=segments, topic="orders")


def _drawn(*paths: Path, axis: str = "bytes", width: int = 128) -> list[str]:
    """The lines of a map; with this width, a row has 100 cells."""
    lines: list[str] = []
    write_maps([partition_map(path) for path in paths], axis, lines.append, ReportStyle(width=width))
    return "".join(lines).splitlines()


def _bars(lines: list[str]) -> list[str]:
    return [line[15:115] for line in lines if line[:13].strip().replace(",", "").isdecimal() and line[:5] == " " * 5]


def test_a_sound_partition_is_sound_from_end_to_end(partition: Path) -> None:
    lines = _drawn(partition)
    assert _bars(lines) == ["█" * 100] * 2
    head = f"{partition}   2 segments, {2 * COUNT * SIZE / 1024:.1f} KiB, offsets 0 to 199; one cell is {SIZE} bytes"
    assert " ".join(lines[:2]).split()[: len(head.split())] == head.split()
    assert lines[-1] == "█ sound   ^ a leader epoch begins"
    made, log = partition_map(partition), str(partition / f"{COUNT:020d}.log")
    for what, role in (("crc-mismatch", "finding"), ("txn-hanging", "readers")):
        made.marks[log].append(MapMark(log, role, what, 50 * SIZE, 50 * SIZE, None, "message"))
    crowded: list[str] = []
    write_maps([made], "bytes", crowded.append, ReportStyle(width=128))
    assert " " * 65 + "a" in "".join(crowded).splitlines(), "a finding hides who waits, and an epoch"
    below = lines[lines.index(next(line for line in lines if line.startswith(f"{COUNT:>13}"))) + 1]
    assert below.rstrip()[15:].index("^") == 50, "of the epoch that begins there"


def test_faults_at_one_place_are_all_drawn_there(partition: Path) -> None:
    log = partition / f"{0:020d}.log"
    odd = batch(base_offset=40, last_offset_delta=0, records=[Record(value=bytes(30)), Record(value=bytes(30))])
    log.write_bytes(log.read_bytes()[: 40 * SIZE] + odd.ljust(SIZE, b"\0") + log.read_bytes()[41 * SIZE :])
    lines = _drawn(partition)
    made = partition_map(partition)
    codes = {mark.what for mark in made.marks[str(log)] if mark.role == "finding" and 40 * SIZE <= mark.start < 41 * SIZE}
    assert {"last-offset-delta-mismatch", "zero-hole"} <= codes
    letters = {line[:1]: line[2:].split()[0] for line in lines if line[1:2] == " " and line[:1].isalpha()}
    row = next(number for number, line in enumerate(lines) if line.startswith(f"{0:>13}"))
    under = "".join(line[15 + 40] for line in lines[row + 1 : row + 5] if line[:15] == " " * 15 and len(line) > 55)
    assert codes <= {letters[letter] for letter in under if letter in letters}, lines


@each("case", sorted(path.name for path in CASES.glob("partition-*")))
def test_every_finding_of_a_check_is_on_the_map(case: str) -> None:
    path = CASES / case
    try:
        lines = _drawn(path)
    except kdump.Unreadable:
        return  # without a log
    text = "\n".join(lines)
    made = partition_map(path)
    for finding in kdump.check(path):
        assert finding.code in text, finding.code
        if finding.path in made.marks:
            assert (finding.code, finding.start) in [(mark.what, mark.start) for mark in made.marks[finding.path]]


@each("case", sorted(path.name for path in CASES.glob("mutant-*"))[::4])
def test_spans_cover_each_log_without_a_gap(case: str) -> None:
    try:
        made = partition_map(CASES / case)
    except kdump.Unreadable:
        return
    for segment in made.segments:
        spans = made.spans[segment.log]
        assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])][: len(spans)]
        assert not spans or spans[-1].end == segment.size
        walked = [(item.size, item.status) for item in kdump.open(segment.log, "log").salvage()]
        for kinds, status in ((("sound", "goes"), "intact"), (("salvaged",), "salvaged"), (("zero",), "zero")):
            size = sum(span.end - span.start for span in spans if span.status in kinds)
            assert size == sum(size for size, of in walked if of == status), status


@each("most", [6, 7, 8])
def test_very_many_spans_become_few_and_damage_still_hides_what_is_sound(
    most: int, partition: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = partition / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    for row in range(0, COUNT, 10):
        data[row * SIZE + 70] = 1  # in a value of zeros; all cases have one partition
    log.write_bytes(data)
    monkeypatch.setattr("kdump.overview.partition_map._PARTS", 1000)
    whole = partition_map(partition).spans[str(log)]
    monkeypatch.setattr("kdump.overview.partition_map._MOST_SPANS", most)
    few = partition_map(partition).spans[str(log)]
    assert len(few) < len(whole) and [span.end for span in few[:-1]] == [span.start for span in few[1:]]
    ends = [(span.first_offset, span.last_offset, span.oldest_timestamp, span.newest_timestamp) for span in (few[0], few[-1])]
    assert (ends[0][::2], ends[1][1::2]) == ((1, START + 1000), (COUNT - 1, START + 1000 * (COUNT - 1)))
    damaged = [span.start for span in whole if span.status == "damaged"]
    held = [next(span.status for span in few if span.start <= place < span.end) for place in damaged]
    assert held == ["damaged"] * len(damaged)


@each("axis, last", [("offset", 45), ("time", 40)])
def test_what_has_no_offsets_or_times_lies_between_those_before_and_after_it(axis: str, last: int) -> None:
    """The scale of times begins ten milliseconds earlier, with another log; nothing says when a log ends."""
    spans = [MapSpan("log", "damaged", row, row + 1, None, None, None, None) for row in range(5)]
    for row, offset in ((0, 0), (3, 30)):
        spans[row] = MapSpan("log", "sound", row, row + 1, offset, offset + 9, 1000 + offset, 1009 + offset)
    made, before = PartitionMap("p"), 10 * (axis == "time")
    made.segments = [MapSegment("p", "log", 0, 45, 5, 2, 1000, 1034 + before, None, [])]
    made.segments.append(MapSegment("p", "more", 45, None, 1, 1, 990, 991, None, []))
    scale = MapScale([made], axis, 45 + before)
    extents = scale.extents(made.segments[0], spans)
    shifted = [(start + before, end + before) for start, end in ((0, 10), (10, 30), (30, 30), (30, 40), (40, last))]
    assert extents == shifted
    assert [scale.place(position, spans, extents) for position in (0, 1, 3, 9)] == [before + place for place in (0, 10, 30, last)]


def test_a_cell_shows_what_hides_the_others_wherever_it_lies_in_it() -> None:
    made = PartitionMap("p")
    for base, end, size, oldest, newest in ((5, 45, 80, 1000, 1159), (45, 60, 8, 1100, 1199)):
        made.segments.append(MapSegment("p", "log", base, end, size, 2, oldest, newest, None, []))
    order = ("damaged", "not_examined", "salvaged", "goes", "zero", "sound")
    for axis, length in (("bytes", 80), ("offset", 40), ("time", 200)):
        scale = MapScale([made], axis, 20)
        assert scale.per_cell == length / 20
        for one, other in product(order, repeat=2):
            spans = [MapSpan("log", kind, 0, 1, None, None, None, None) for kind in (one, other)]
            hides = min(one, other, key=order.index)
            assert scale.kinds(spans, [(2.0, 3.2), (3.2, 19.5)]) == [None, None, one, hides, *[other] * 16]


@each("width", [40, 80, 100, 120, 200])
def test_a_map_fits_its_width_and_needs_no_colour(width: int, tmp_path: Path) -> None:
    path = shutil.copytree(CASES / "partition-garbage", tmp_path / "データ\x1b[31m-7")
    for axis in AXES:
        lines = _drawn(path, axis=axis, width=width)
        assert "\x1b" not in "".join(lines)
        assert all(width_of(line) <= max(width, 48) for line in lines if escaped(str(path)) not in line), axis


def test_many_segments_are_counted_but_for_the_odd_ones(tmp_path: Path) -> None:
    path = write_partition(tmp_path, segments={offset: [_batch(offset)] for offset in range(60)}, topic="orders")
    log = path / f"{57:020d}.log"
    data = bytearray(log.read_bytes())
    data[70] ^= 1
    log.write_bytes(data)
    lines = _drawn(path)
    rows = [line[:13].strip() for line in lines if line[:13].strip()]
    assert {"0", "1", "57", "58", "59"} <= set(rows) and len(rows) < 24
    assert ["segments" in line for line in lines[2:]].count(True) == 1
    assert any("55 segments, sound" in line for line in lines)
    for offset in range(60):
        (path / f"{offset:020d}.log").write_bytes(data)
    lines = _drawn(path)
    assert [int(line[:13]) for line in lines if line[:13].strip().isdecimal()] == [*range(20), *range(58, 60)]
    assert any(f"{38} segments, of which 38 are not sound" in line for line in lines)
    shown = next(line for line in lines if line.startswith("a "))
    assert shown.startswith("a crc-mismatch (22 times; the first:) One batch, offset 0 (1 record).")


def test_the_command_has_the_exit_code_of_the_check_and_rows(partition: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["map", str(partition)]) == 0
    (partition / f"{0:020d}.log").write_bytes(b"x" * 500)
    assert commands.main(["check", "-q", str(partition)]) == 1
    assert commands.main(["map", "--output", "ndjson", str(partition.parent)]) == 1
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    assert {row["kind"] for row in rows} == {"map-segment", "map-span", "map-mark"}
    assert [row["endOffset"] for row in rows if row["kind"] == "map-segment"] == [COUNT, 2 * COUNT]
    write_partition(partition.parent, segments={0: [_batch(0)]}, topic="sound")
    for arguments, code in (
        ([partition.parent], 1),
        ([partition.parent / "sound-0", partition.parent / "gone-0"], 3),
        (["--topics", "nosuch", partition.parent], 2),
        ([partition / f"{COUNT:020d}.log", "--by", "time"], 0),
    ):
        assert commands.main(["map", *map(str, arguments)]) == code, arguments
    assert sys.stdout is not None


def test_how_far_an_index_leads_is_shown_where_it_ends_early(tmp_path: Path) -> None:
    count, size = 3, 800_000
    batches = [batch(base_offset=offset, records=[Record(value=bytes(size))]) for offset in range(count)]
    path = write_partition(tmp_path, segments={0: batches}, topic="orders")
    index = path / f"{0:020d}.index"
    positions = list(range(0, count * len(batches[0]), len(batches[0])))
    index.write_bytes(b"".join(struct.pack(">ii", offset, position) for offset, position in enumerate(positions) if position))
    (segment,) = partition_map(path).segments
    assert (segment.indexed_to, segment.notes) == (positions[-1], [])
    index.write_bytes(struct.pack(">ii", 1, 1000) + bytes(80))  # zeros are room for entries
    (segment,) = partition_map(path).segments
    assert segment.indexed_to == 1000 and any("the index leads to byte 1,000" in note for note in segment.notes)
    assert "the index leads to byte 1,000" in "\n".join(_drawn(path))
    index.unlink()
    assert partition_map(path).segments[0].indexed_to is None


def _of_producer(producer: int, offset: int, second: int, *, is_transactional: bool = False, epoch: int = 0) -> bytes:
    fields: dict[str, Any] = {"producer_id": producer, "producer_epoch": epoch, "is_transactional": is_transactional}
    records = [Record(value=b"x")]
    return batch(base_offset=offset, base_timestamp=START + 1000 * second, base_sequence=0, records=records, **fields)


def _marker(producer: int, offset: int, second: int, *, is_commit: bool) -> bytes:
    return transaction_marker(base_offset=offset, producer_id=producer, is_commit=is_commit, timestamp=START + 1000 * second)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Three transactions of producer 1, of which the last stays open, in two logs; producer 2 pauses a minute, then longer."""
    batches = {
        0: [
            *(_of_producer(1, 0, 0, is_transactional=True), _of_producer(2, 1, 1), _of_producer(1, 2, 2, is_transactional=True)),
            *(_marker(1, 3, 3, is_commit=True), _of_producer(2, 4, 61), _of_producer(1, 5, 5, is_transactional=True)),
        ],
        6: [
            *(_marker(1, 6, 6, is_commit=False), _of_producer(2, 7, 122), _of_producer(2, 8, 123, epoch=1)),
            _of_producer(1, 9, 124, is_transactional=True),
        ],
    }
    return write_partition(tmp_path, segments=batches, topic="orders")


def test_a_damaged_batch_is_no_producers_and_a_marker_that_cannot_be_read_ends_its_transaction(written: Path) -> None:
    log = written / f"{0:020d}.log"
    size, marker = len(_of_producer(1, 0, 0)), _marker(1, 3, 3, is_commit=True)
    data = bytearray(log.read_bytes())
    data[size + 50] ^= 1
    short = batch(base_offset=3, base_timestamp=START, producer_id=1, producer_epoch=0, is_transactional=True, is_control=True)
    log.write_bytes(bytes(data).replace(marker, short))
    made = partition_map(written).producers
    assert (set(made.producers), made.producers[1].is_open, made.producers[2].batches) == ({1, 2}, True, 3)
    assert [run.what for run in made.runs if run.producer_id == 1] == ["ended", "aborted", "open"]
    waiting = [mark for marks in partition_map(written).marks.values() for mark in marks if mark.role == "readers"]
    assert [(mark.what, mark.offset) for mark in waiting] == [("txn-open", 9)]


@each("plot", PLOTS)
def test_a_picture_is_a_file_of_its_own_without_links_or_names_of_colours(
    plot: str, written: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert commands.main(["map", str(written), "--output", "svg", "--plot", plot]) == kdump.check(written).exit_code
    text = capfdbinary.readouterr().out.decode()
    assert text == kdump.picture(written, plot=plot)
    picture = ElementTree.fromstring(text)
    assert picture.tag == "{http://www.w3.org/2000/svg}svg" and "var(" not in text and "href" not in text
    assert len(picture.findall(".//{*}path")) >= 1
    assert any(str(written) in (one.text or "") for one in picture.iter("{http://www.w3.org/2000/svg}text"))
    commands.main(["map", str(written), "--output", "png", "--plot", plot])
    image = capfdbinary.readouterr().out
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(image[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == tuple(2 * int(picture.attrib[name]) for name in ("width", "height"))


def test_pictures_of_nothing_say_so(tmp_path: Path) -> None:
    path = write_partition(tmp_path, segments={0: []}, topic="orders")
    texts = [svg_of([partition_map(path)], plot, "bytes") for plot in PLOTS]
    assert all(ElementTree.fromstring(text) is not None for text in texts)
    assert "nothing has a time" in texts[1] and "no batch says its producer" in texts[3]


def test_pictures_need_their_format_and_its_package(written: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(kdump.UsageError, match="timestamps"):
        kdump.picture(written, plot="timestamp")
    assert ", by time" in kdump.picture(written, by="time")
    assert commands.main(["map", str(written), "--plot", "producers"]) == 2
    assert "--output svg or png" in capfd.readouterr().err
    with without_modules("resvg_py"):
        assert commands.main(["map", str(written), "--output", "png"]) == 2
    assert "kafka-kdump[png]" in capfd.readouterr().err


def test_what_is_no_log_of_kafka_is_not_drawn(partition: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = partition.parent / "topic" / "0_7"
    other.mkdir(parents=True)
    (other / redpanda.NAME).write_bytes(redpanda.redpanda_batch(_batch(0)))
    empty = partition.parent / "empty" / "orders-0"
    empty.mkdir(parents=True)
    for path, words in (
        (partition / f"{0:020d}.index", "not of what is beside a log"),
        (other, "a segment of Redpanda"),
        (empty, "no segment"),
    ):
        assert commands.main(["map", str(path)]) == 3
        assert words in capfd.readouterr().err
    meta = "version=1\nnode.id=7\ncluster.id=abcdefghijklmnopqrstuv\ndirectory.id=J8aAPcfLQt2bqs1JT_rMgQ\n"
    (empty.parent / "meta.properties").write_text(meta)
    assert commands.main(["map", str(empty.parent)]) == 3
    sound = write_partition(empty.parent, segments={0: [_batch(0)]}, topic="sound")
    assert [commands.main(["map", *map(str, paths)]) for paths in ([empty.parent], [sound, empty])] == [0, 3]


def test_a_segment_that_a_crash_deletes_goes_from_its_first_batch_on(partition: Path) -> None:
    log = partition / f"{0:020d}.log"
    data = log.read_bytes()
    log.write_bytes(data[: 98 * SIZE] + b"\xff" * SIZE + data[99 * SIZE :])
    assert {span.status for span in partition_map(partition).spans[str(partition / f"{COUNT:020d}.log")]} == {"goes"}
    (partition / f"{COUNT:020d}.timeindex").write_bytes(b"x")
    notes = [segment.notes for segment in partition_map(partition).segments]
    assert notes[0] == [f"a crash now cuts it at byte {98 * SIZE:,}"]
    assert notes[1] == ["timeindex: timeindex-size-misaligned", "a crash now deletes it"]
    (partition / f"{COUNT:020d}.log").unlink()
    (segment,) = partition_map(partition).segments
    assert segment.end_offset == 98, "the last batch is only salvaged"
