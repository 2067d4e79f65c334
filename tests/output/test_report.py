"""The reports at the end of a run: their words, and the order of files in the hash maps of Java and Scala."""

import tempfile
from collections.abc import Iterable
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.errors import KdumpError
from kdump.output.kafka import complaints as store
from kdump.output.kafka import reports
from kdump.output.kafka.complaints import Complaints
from kdump.releases import history
from kdump.releases.profile import Profile, profile_of

A, B = "/p-0/00000000000000000000.log", "/p-1/00000000000000000000.log"
Complaint = tuple[str, str, int, int]
LATEST, OLD = profile_of("4.3.1"), profile_of("1.0.1")


def _text(profile: Profile, found: Iterable[Complaint]) -> str:
    with closing(Complaints()) as complaints, closing(Complaints()) as together:
        for (kind, path), group in groupby(found, itemgetter(0, 1)):
            pairs = [(first, second) for _, _, first, second in group]
            for first, second in pairs:
                complaints.add(kind, path, [first], [second])
            together.add(kind, path, [first for first, _ in pairs], [second for _, second in pairs])
        text = "".join(reports.lines(profile, complaints))
        assert text == "".join(reports.lines(profile, together))
        return text


def test_a_file_given_twice_has_one_report() -> None:
    complaints = [("non_consecutive", A, 1, 3), ("non_consecutive", B, 1, 3), ("non_consecutive", A, 5, 7)]
    assert _text(LATEST, complaints).count(A) == 1
    assert _text(LATEST, []) == ""


def _pairs(release: str, kind: str, pairs: list[tuple[int, int]]) -> list[str]:
    text = _text(profile_of(release), [(kind, A, *pair) for pair in pairs])
    return [line.removeprefix("  ") for line in text.splitlines()[1:]]


INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.lists(st.tuples(st.integers(-5, 5) | INT64, INT64), max_size=40), st.sampled_from([1, 2, 7]))
def test_pairs_that_are_held_in_blocks_are_reported_as_if_they_were_held_at_once(pairs: list[tuple[int, int]], size: int) -> None:
    with mock.patch.multiple(store, _BLOCK_PAIRS=size, _SAMPLE_STEP=2, _PART_SAMPLES=2, _MAX_HELD=64):
        found = {
            (release, kind): _pairs(release, kind, pairs)
            for release in ("1.0.1", "4.3.1")
            for kind in ("mismatches", "out_of_order", "non_consecutive")
        }
    by_first = sorted(dict(pairs).items())
    index, gap = "Index offset: {}, log offset: {}", "{} is followed by {}"
    in_order = [f"Index timestamp: {first}, Previously indexed timestamp: {second}" for first, second in pairs]
    assert found == {
        ("1.0.1", "mismatches"): [index.format(*pair) for pair in reversed(pairs)],
        ("1.0.1", "out_of_order"): in_order,
        ("1.0.1", "non_consecutive"): [gap.format(*pair) for pair in reversed(pairs)],
        ("4.3.1", "mismatches"): [index.format(*pair) for pair in reversed(by_first)],
        ("4.3.1", "out_of_order"): in_order,
        ("4.3.1", "non_consecutive"): [gap.format(*pair) for pair in by_first],
    }


def test_a_full_disk_ends_a_run_that_cannot_hold_its_report() -> None:
    with (
        closing(Complaints()) as complaints,
        mock.patch.object(tempfile.SpooledTemporaryFile, "write", side_effect=OSError(28, "No space left on device")),
        pytest.raises(KdumpError, match="temporary file: No space left on device; TMPDIR names another place"),
    ):
        for number in range(1 << 15):
            complaints.add("mismatches", A, [number], [number])


# What Kafka's tool printed for 14 files that stand in one folder each, given in ascending and in descending order.
# Its folder is not known any more; that of these paths has the same place in every hash map.
FOLDER = "/kafka-dhgxpom"
FILES = [f"{FOLDER}/p{number}/{3 + 7 * number:020}.log" for number in range(14)]

ORDERS = {
    ("java", "ascending"): [7, 11, 13, 1, 4, 12, 10, 9, 6, 5, 2, 8, 3, 0],
    ("java", "descending"): [7, 11, 1, 13, 4, 10, 12, 2, 5, 6, 9, 0, 3, 8],
    ("scala-2.13", "ascending"): [7, 11, 1, 13, 4, 10, 12, 2, 5, 6, 9, 0, 3, 8],
    ("scala-2.13", "descending"): [7, 11, 1, 13, 4, 10, 12, 2, 5, 6, 9, 0, 3, 8],
    ("scala-2.11", "ascending"): [0, 7, 10, 8, 13, 3, 6, 11, 12, 2, 9, 1, 4, 5],
    ("scala-2.11", "descending"): [0, 10, 7, 8, 13, 3, 11, 6, 12, 9, 2, 1, 4, 5],
}


def test_files_come_in_the_order_that_kafkas_tool_printed() -> None:
    given_files = {"ascending": FILES, "descending": FILES[::-1]}
    found = {(name, given): [FILES.index(path) for path in reports.ordered(name, given_files[given])] for name, given in ORDERS}
    assert found == ORDERS
    assert (OLD.report_order, LATEST.report_order) == ("scala-2.11", "java")
    assert set(history.REPORT_ORDER.values()) == set(reports._ORDERS)


# "Aa" and "BB" have one hash code, so any text of these has that of its length.


def test_a_map_grows_before_a_pair_is_added_to_more_than_12_files_in_java_and_with_the_12th_in_scala_2_13() -> None:
    twelve = [chr(code) for code in range(0x60, 0x6C)]  # buckets 0 to 11
    late = "p"  # bucket 0 of 16 and 16 of 32
    assert reports.ordered("java", [*twelve, late]) == [late, *twelve]
    assert reports.ordered("java", [*twelve, late, late]) == reports.ordered("java", [*twelve, late, "`"]) == [*twelve, late]
    assert reports.ordered("scala-2.13", [*twelve[1:11], late]) == [late, *twelve[1:11]]
    assert reports.ordered("scala-2.13", [*twelve[:11], late]) == [*twelve[:11], late]


@given(st.lists(st.text(alphabet="abc/", max_size=4), max_size=40), st.integers(1, 3))
def test_a_file_that_complains_again_changes_the_order_only_where_javas_map_grows(paths: list[str], times: int) -> None:
    again = [path for path in paths for _ in range(times)]
    for name in ("scala-2.13", "scala-2.11"):
        assert reports.ordered(name, again) == reports.ordered(name, paths)
