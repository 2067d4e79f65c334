"""kdump prints, byte for byte, what Kafka's tool prints."""

import re
import shutil
from pathlib import Path

import pytest

from golden_outputs import make, stored
from golden_outputs.known_differences import KNOWN_DIFFERENCES, KnownDifference
from golden_outputs.runs import CASES, cases, wanted_runs
from golden_outputs.stored import Golden
from kdump.binary import kernel
from kdump.releases import known
from tests import goldens, kernels, oracle
from tests.goldens import Agreement
from tests.loops import each
from tests.support import Patch

WHOLE_PROCESSES = 40
REMADE_RUNS_PER_RELEASE = 60
SHOWN_DIFFERENCES = 5


REMADE = ("4.4.0", "1.0.1")
"""The releases whose goldens are made again here in part; `golden_outputs.make --check` does it for all."""

NEWEST = known.RELEASES[-1]
OTHERS = known.RELEASES[:-1]


@pytest.mark.both_kernels
@pytest.mark.parametrize("case", cases())
def test_kdump_prints_what_kafka_prints(case: str, kernel_in_use: str, all_cases: bool) -> None:
    """The kernel in C prints as releases do, at each change (and, of all cases, once in between), the one in Python as the
    newest does, and one of the others in turn."""
    if kernel_in_use == kernel.PYTHON and not kernels.why_no_c():
        differences = goldens.unexpected_differences(case, NEWEST)
        differences += goldens.unexpected_differences(case, OTHERS[cases().index(case) % len(OTHERS)])
    else:
        differences = goldens.unexpected_differences(case, is_between=all_cases)
    assert not differences, "\n".join([f"{len(differences)} runs differ", *differences[:SHOWN_DIFFERENCES]])


@each(
    "case",
    [
        *("consumer-offsets-all-groups-4.3.0", "consumer-offsets-streams-group-4.3.0"),
        *("cluster-metadata-random-records", "share-group-state-random-records"),
    ],
)
def test_the_newest_release_shows_each_field_of_internal_topics_as_kafka_does(case: str) -> None:
    assert goldens.unexpected_differences(case, NEWEST) == []


@pytest.mark.slow
def test_whole_processes_print_what_kafka_prints() -> None:
    differences = []
    runs = list(goldens.iterate())
    for release, golden in runs[:: len(runs) // WHOLE_PROCESSES]:
        with goldens.copy_of(golden.case) as folder:
            printed = goldens.run_as_process(release, golden.arguments, folder)
        is_different = goldens.compare(golden, printed) is Agreement.DIFFERENT
        if is_different and not goldens.known_difference(release, golden):
            differences.append(goldens.difference(release, golden, printed))
    assert not differences, "\n".join([f"{len(differences)} runs differ", *differences[:SHOWN_DIFFERENCES]])


@pytest.mark.slow
def test_reports_of_several_files_come_in_the_order_of_kafka(all_cases: bool) -> None:
    differences = []
    several = [one for one in goldens.distinct() if one[1].stderr.count(b"{CWD}/") > 1]
    for release, golden in goldens.fewer(several, is_between=all_cases):
        if len(re.findall(rb"^\S.*\{CWD\}/", golden.stderr, re.MULTILINE)) < 2:
            continue
        with make.working_folder() as folder:  # the very folder that the real tool worked in
            shutil.copytree(CASES / golden.case, folder)
            printed = goldens.run_in_process(release, golden.arguments, folder)
        if printed.stderr != golden.stderr and not goldens.known_difference(release, golden):
            wanted, got = golden.stderr.decode(), printed.stderr.decode()
            differences.append(f"{golden.case}: {release} {golden.arguments}\nwanted:\n{wanted}\ngot:\n{got}")
    assert not differences, "\n".join([f"{len(differences)} runs differ", *differences[:SHOWN_DIFFERENCES]])


@pytest.mark.both_kernels
@pytest.mark.parametrize("known", KNOWN_DIFFERENCES, ids=lambda known: known.reason)
def test_a_known_difference_still_differs(known: KnownDifference) -> None:
    matched = [run for run in goldens.distinct(known.release, known.case) if goldens.falls_under(known, *run)]
    assert any(_differs(*run) for run in matched), f"none of {len(matched)} runs differs any more: take the entry off the list"


def _differs(release: str, golden: Golden) -> bool:
    with goldens.copy_of(golden.case) as folder:
        return goldens.compare(golden, goldens.run_in_process(release, golden.arguments, folder)) is Agreement.DIFFERENT


def test_every_release_is_kept() -> None:
    assert stored.releases() == list(reversed(known.RELEASES))


@pytest.mark.oracle
@pytest.mark.parametrize("release", REMADE)
def test_the_real_tool_still_prints_the_goldens(release: str) -> None:
    missing = oracle.why_not_available(release)
    if missing:
        pytest.skip(missing)
    differences = make.check(release, sample=REMADE_RUNS_PER_RELEASE)
    assert not differences, "".join(differences)


@each("release", known.RELEASES, share=4)
def test_every_requested_run_is_kept(release: str) -> None:
    assert {golden.run for golden in stored.read(release)} == set(wanted_runs(release))


def test_every_case_is_described() -> None:
    table = CASES.with_suffix(".md").read_text()
    assert re.findall(r"^\| `([^`]+)` \| \S.* \|$", table, re.MULTILINE) == cases()


def test_all_releases_are_read_as_they_were_written(tmp_path: Path, monkeypatch: Patch, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(stored.forget)
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    stored.forget()
    odd = b"> ! $ exit 0\n\n\\x41 \0\r\x1b\x7f \n" + "ünï\u2028\u202e\U0001f600\n".encode() + b"no newline \\"
    newest = [Golden("a", ("x", "", "a b", "it's"), 0, b"same\n", b"\xff"), Golden("b", ("y",), 0, odd, b"")]
    older = [Golden("a", ("x", "", "a b", "it's"), 1, b"same\n", b"\xff"), Golden("b", ("y",), 0, b"older\n", odd)]
    oldest = [Golden("a", ("x",), 0, b"oldest\\\n", b""), Golden("b", ("y",), 0, b"older\n", b"")]
    stored.write({"1.0.1": oldest, "3.0.0": newest, "2.0.0": older})
    assert stored.releases() == ["3.0.0", "2.0.0", "1.0.1"]
    assert [list(stored.read(release)) for release in stored.releases()] == [newest, older, oldest]


def test_the_order_of_reports_of_one_kind_does_not_count() -> None:
    first = b"Mismatches in :{CWD}/b.index\n  Index offset: 1, log offset: 2\n"
    second = b"Mismatches in :{CWD}/a.index\n  Index offset: 3, log offset: 4\n"
    other = b"Non-consecutive offsets in {CWD}/a.log\n  1 is followed by 3\n"
    assert goldens.in_one_order(b"before\n" + first + second + other) == b"before\n" + second + first + other
    assert goldens.in_one_order(other + first) != goldens.in_one_order(first + other)


_KAFKA = "org.apache.kafka.common.KafkaException: "
_CAST = "java.lang.ClassCastException: class A cannot be cast to"


@each(
    "wanted, got, agreement",
    [
        ("java.io.IOException: failed to read chunk", "java.io.IOException: PARSING_ERROR(2)", Agreement.WORDS_DIFFER),
        ("java.io.IOException: failed to read chunk", "java.io.IOException: Is a directory", Agreement.DIFFERENT),
        ("java.io.IOException: a", "java.io.IOException: a", Agreement.IDENTICAL),
        ("java.io.IOException: a", "java.io.IOException: b", Agreement.DIFFERENT),
        ("java.io.IOException: PARSING_ERROR(2)", "java.io.EOFException: PARSING_ERROR(2)", Agreement.DIFFERENT),
        ("java.io.FileNotFoundException: a.log (Is a directory)", "java.io.FileNotFoundException: b.log", Agreement.DIFFERENT),
        ("java.nio.file.NoSuchFileException: a.log", "java.nio.file.NoSuchFileException: b.log", Agreement.DIFFERENT),
        ("java.lang.IllegalStateException: version: 4", "java.lang.IllegalStateException: version: 5", Agreement.DIFFERENT),
        ("org.xerial.snappy.SnappyError: [A] a", "org.xerial.snappy.SnappyError: [B] b", Agreement.WORDS_DIFFER),
        ("java.util.zip.ZipException: a", "java.util.zip.ZipException: b", Agreement.WORDS_DIFFER),
        ("java.lang.NullPointerException: a", "java.lang.NullPointerException", Agreement.WORDS_DIFFER),
        (f"{_CAST} class B (A is in a module)", f"{_CAST} class B", Agreement.WORDS_DIFFER),
        (f"{_CAST} class B", f"{_CAST} class C", Agreement.DIFFERENT),
        ("joptsimple.SomeException: a", "joptsimple.SomeException: b", Agreement.DIFFERENT),
        (
            f"{_KAFKA}java.io.IOException: failed to read chunk",
            f"{_KAFKA}java.io.IOException: FAILED_TO_UNCOMPRESS(5)",
            Agreement.WORDS_DIFFER,
        ),
        (f"{_KAFKA}java.io.IOException: a", f"{_KAFKA}java.io.IOException: b", Agreement.DIFFERENT),
        (f"{_KAFKA}a", f"{_KAFKA}b", Agreement.DIFFERENT),
    ],
)
def test_only_words_that_are_not_kafkas_may_differ(wanted: str, got: str, agreement: Agreement) -> None:
    golden, printed = (f'Exception in thread "main" {text}\n'.encode() for text in (wanted, got))
    assert goldens.compare(Golden("a", (), 1, b"", golden), kernels.Printed(1, b"", printed)) is agreement
