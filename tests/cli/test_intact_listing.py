"""Listings of intact stretches by the kernel in C are those of the reference, whatever the contents."""

import base64
import csv
import io
import json
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary import kernel
from kdump.cli.listing import log_files
from kdump.cli.listing.logs import LogLister
from tests import kernels
from tests.builders.compression import Codec
from tests.builders.fleets import flipped
from tests.builders.records import Record, abort_record, batch, commit_record, message, message_set
from tests.kernels import Printed, Sizes
from tests.loops import each, examples

pytestmark = pytest.mark.skipif(kernels.why_no_c() is not None, reason="the kernel in C was not built")

NAME = f"{0:020d}.log"

STRANGE = '\0\b\t\n\v\f\r\x1b "\\,;\x7f\x80\x85\xa0\xadaöß購\u200b\u2028\u202e\ue000\ufeff\uffff😀\U0001fae9\U000e0001\U0010ffff'
"""What some form of output escapes or quotes, and what Python's versions do not all know."""

PIECES = st.sampled_from(
    [*map(str.encode, STRANGE), b"plain text of some length", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80"]
)
BYTES = st.lists(PIECES, max_size=12).map(b"".join) | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)
CONTENTS = st.none() | BYTES
HEADERS = st.lists(st.tuples(BYTES, CONTENTS), max_size=3)
RECORDS = st.builds(
    Record, key=CONTENTS, value=CONTENTS, headers=HEADERS, timestamp=st.integers(-5, 5) | st.integers(-(10**15), 10**15)
)
CODECS: list[Codec] = ["none", "none", "gzip", "snappy", "lz4", "zstd"]

FORMS = ("ndjson", "csv", "kafka")
WAYS: tuple[list[str], ...] = ([], ["--deep"], ["--print-data-log"], ["--print-data-log", "--skip-record-metadata"])
SIZES = (Sizes(), Sizes(window=61, out=100, gaps=1), Sizes(window=200, out=300), Sizes(window=1000, out=4096, payload=60))
STRETCHES = st.sampled_from([1 << 20, 1 << 20, 1, 100, 1000])


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Batches of records, markers and old messages in order; perhaps with a damaged byte, or a gap between offsets."""
    parts, offset, is_legacy = [], 0, draw(st.integers(0, 5)) == 0
    for _ in range(draw(st.integers(1, 8))):
        offset += draw(st.sampled_from([0, 0, 0, 7]))
        if is_legacy:
            made = message(offset=offset, magic=draw(st.sampled_from([0, 1])), key=draw(CONTENTS), value=draw(CONTENTS))
            parts.append(message_set(messages=[made]))
            offset += 1
            continue
        if draw(st.integers(0, 4)) == 0:
            marker = draw(st.sampled_from([commit_record(), abort_record(coordinator_epoch=3)]))
            parts.append(batch(base_offset=offset, records=[marker], is_control=True, is_transactional=True, producer_id=5))
            offset += 1
            continue
        records = draw(st.lists(RECORDS, max_size=5))
        sequence = draw(st.sampled_from([-1, 0, 2**31 - 2]))
        parts.append(
            batch(
                base_offset=offset,
                records=records,
                codec=draw(st.sampled_from(CODECS)),
                timestamp_type=draw(st.sampled_from(["CreateTime", "LogAppendTime"])),
                is_transactional=draw(st.booleans()),
                producer_id=-1 if sequence < 0 else 2**62,
                base_sequence=sequence,
                delete_horizon_ms=draw(st.sampled_from([None, None, 1_600_000_000_000])),
                trailing=draw(st.sampled_from([b"", b"", b"", b"x"])),
                records_count=draw(st.sampled_from([None, None, None, 0, 2, 9])),
            )
        )
        offset += max(len(records), 1)
    whole = bytearray(b"".join(parts))
    if whole and draw(st.integers(0, 3)) == 0:
        whole[draw(st.integers(0, len(whole) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(whole)


def _listed(name: str, arguments: list[str], stretch: int, sizes: Sizes) -> Printed:
    with kernels.using(name), kernels.reading_with(kernels.in_windows(stretch)):
        return kernels.listed(arguments, sizes)


def test_a_record_without_a_timestamp_is_of_no_time(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(batch(records=[Record(value=b"v", timestamp=time) for time in (-1, 3, 9)]))
    arguments = ["log", "--deep", "--to-time", "1970-01-01T00:00:00.005Z", "--output", "ndjson", str(tmp_path / NAME)]
    for name in kernels.KERNELS:
        lines = _listed(name, arguments, 1 << 20, Sizes()).stdout.splitlines()
        assert [json.loads(line)["offset"] for line in lines] == [1], name


@pytest.mark.parametrize("form", FORMS)
@examples(50)
@given(log=logs(), way=st.sampled_from(WAYS), stretch=STRETCHES, sizes=st.sampled_from(SIZES))
def test_both_kernels_list_the_same(tmp_path: Path, form: str, log: bytes, way: list[str], stretch: int, sizes: Sizes) -> None:
    path = tmp_path / NAME
    path.write_bytes(log)
    arguments = ["log", *way, "--output", form, str(path)]
    expected = _listed(kernel.PYTHON, arguments, 1 << 20, Sizes())
    assert _listed(kernel.C, arguments, stretch, sizes) == expected


@each("form", FORMS)
def test_each_odd_letter_is_shown_as_by_the_reference_alone_and_between_others(tmp_path: Path, form: str) -> None:
    texts = [before + letter + after for letter in STRANGE for before, after in (("", ""), ("plain ab", "x"), ("", "\x7f"))]
    (tmp_path / NAME).write_bytes(batch(records=[Record(value=text.encode()) for text in texts]))
    arguments = ["log", "--print-data-log", "--output", form, str(tmp_path / NAME)]
    by_c, by_reference = (_listed(name, arguments, 1 << 20, Sizes()) for name in (kernel.C, kernel.PYTHON))
    assert by_c == by_reference
    if form == "csv":
        rows = csv.DictReader(io.StringIO(by_c.stdout.decode(), newline=""))
        assert [row["value"] for row in rows if row["value"]] == texts


OFFSETS, MOMENTS, POSITIONS = st.integers(0, 60), st.integers(-(10**15), 10**15) | st.integers(-6, 6), st.integers(0, 1500)
RANGE = {"--from-offset": OFFSETS, "--to-offset": OFFSETS, "--from-position": POSITIONS, "--limit": st.integers(1, 9)}
RANGE |= {"--from-time": MOMENTS, "--to-time": MOMENTS}
BOUNDS = st.fixed_dictionaries({}, optional=RANGE) | st.fixed_dictionaries({"--tail": st.integers(1, 9)})


@pytest.mark.parametrize("form", ["ndjson", "kafka"])
@examples(40)
@given(log=logs(), way=st.sampled_from(WAYS), stretch=STRETCHES, bounds=BOUNDS)
def test_the_kernel_lists_the_same_part_as_tables(
    tmp_path: Path, form: str, log: bytes, way: list[str], stretch: int, bounds: dict[str, int]
) -> None:
    path = tmp_path / NAME
    path.write_bytes(log)
    options = [text for option, value in bounds.items() for text in (option, as_option(option, value))]
    arguments = ["log", *way, *options, "--output", form, str(path)]
    with mock.patch.object(log_files, "intact_text", lambda *_, **__: None):
        expected = _listed(kernel.C, arguments, stretch, Sizes())
    assert _listed(kernel.C, arguments, stretch, Sizes()) == expected


def as_option(option: str, value: int) -> str:
    if not option.endswith("-time"):
        return str(value)
    return f"{'-' if value < 0 else ''}{abs(value):013d}"  # milliseconds since 1970


@each("stretch", [1, 1 << 20])
@each("name", [kernel.PYTHON, kernel.C])
def test_a_damaged_batch_leads_to_one_whose_crc_fits_whatever_that_claims(tmp_path: Path, name: str, stretch: int) -> None:
    path = tmp_path / NAME
    damaged = flipped(batch(records=[Record(value=b"value")]))
    overfull = batch(base_offset=1, records_count=2, last_offset_delta=0)  # though nothing follows its header
    path.write_bytes(damaged + overfull + batch(base_offset=2, records=[Record()]))
    printed = _listed(name, ["log", "--output", "ndjson", str(path)], stretch, Sizes())
    assert printed.stderr.endswith(b"byte 0: the CRC of a record batch does not match (crc-mismatch)\n")


def test_records_outside_the_offsets_of_their_batch_are_not_in_its_range(tmp_path: Path) -> None:
    path = tmp_path / NAME
    odd = [Record(value=b"x", offset_delta=0), Record(value=b"y", offset_delta=9)]
    path.write_bytes(batch(base_offset=4, records=odd, last_offset_delta=1) + batch(base_offset=20, records=[Record()]))
    with kernels.using(kernel.C):
        (line,) = kernels.listed(["log", "--deep", "--to-offset", "6", "--output", "ndjson", path]).stdout.splitlines()
    assert json.loads(line)["offset"] == 4


def test_a_record_may_be_larger_than_the_room_for_text(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(batch(records=[Record(key=b"\x01" * 100_000, value=b"\xff" * 100_000), Record(value=b"x")]))
    refuses = mock.Mock(side_effect=AssertionError("a table was listed"))
    with mock.patch.object(LogLister, "list_batches", refuses), kernels.using(kernel.C):
        text = kernels.listed(["log", "--deep", "--output", "ndjson", path]).stdout
    first, second = map(json.loads, text.splitlines())
    assert first["key"] == "\x01" * 100_000 and base64.b64decode(first["valueBase64"]) == b"\xff" * 100_000
    assert second["value"] == "x"


def test_a_file_whose_name_is_too_long_for_a_program_is_listed_from_tables(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(8):
        folder = folder / ("\u2028" * 80)  # six times as long in JSON
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(batch(records=[Record(value=b"x")]))
    printed = kernels.listed(["log", "--deep", "--output", "ndjson", folder / NAME])
    assert json.loads(printed.stdout)["file"] == str(folder / NAME)
