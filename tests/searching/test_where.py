"""`kdump where`: the fates of records in scripted histories of real brokers, and in small logs.

`where.tar.xz` has logs and checkpoints of brokers 4.3.1, and `recorded.jsonl`: what happened to records that scripts wrote, and
what of it can be known from files.
"""

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.cli import commands
from kdump.errors import UsageError
from kdump.output.rows.fates import Fate
from tests.builders.files import write_partition
from tests.builders.records import batch, record, transaction_marker

FIRST = "00000000000000000000"
RECORDED = Path(__file__).with_name("where.tar.xz")


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded directories."""
    folder = tmp_path_factory.mktemp("histories")
    with tarfile.open(RECORDED) as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_each_recorded_fate_is_found(histories: Path) -> None:
    answers: Counter[str] = Counter()
    for line in (histories / "recorded.jsonl").read_text().splitlines():
        row = json.loads(line)
        folder = histories / row["case"]
        partition = f"{row['topic']}-{row['partition']}"
        if "key" in row:
            places = [folder / name / partition for name in row["dirs"] if (folder / name / partition).exists()]
            fates, expected = list(kdump.where(None, *places, key=row["key"])), row["answers"]
        else:
            fates = list(kdump.where(f"{partition}@{row['offset']}", *(folder / name for name in row["dirs"])))
            expected = [{name: value for name, value in row.items() if name not in NOT_COMPARED}]
        assert len(fates) == len(expected), row
        for fate, wanted in zip(fates, expected, strict=True):
            answers[wanted["answer"]] += 1
            assert _shown(fate, folder, wanted) == _in_order(wanted), row
    assert sum(answers.values()) > 220 and len(answers) == 13


NOT_COMPARED = ("case", "dirs", "truth", "evidence", "key")


def _shown(fate: Fate, folder: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """The fields of a fate that a recorded row has, with the names of its directories."""
    fields = {column.key: getattr(fate, column.name) for column in fate.schema}

    def names(paths: list[str]) -> list[str]:
        return sorted(Path(path).relative_to(folder).parts[0] for path in paths)

    for name in ("copies", "damagedOn"):
        fields[name] = names(fields[name])
    fields["also"] = [{**other, "copies": names(other["copies"])} for other in fields["also"]]
    return {name: fields[name] for name in wanted}


def _in_order(wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if name in ("copies", "damagedOn") else value for name, value in wanted.items()}


# --- in small logs


def _partition(folder: Path, *batches: bytes, base: int = 0) -> Path:
    write_partition(folder, topic="a", segments={base: list(batches)})
    return folder


def _fate(question: str, *paths: Path) -> Fate:
    (fate,) = kdump.where(question, *paths)
    return fate


def test_the_marker_after_a_record_decides(tmp_path: Path) -> None:
    def of(producer: int, offset: int) -> bytes:
        return batch(
            base_offset=offset, records=[record()], producer_id=producer, producer_epoch=0, base_sequence=0, attributes=0x10
        )

    data = _partition(
        tmp_path / "data",
        of(7, 0),
        of(8, 1),
        of(9, 2),
        transaction_marker(base_offset=3, producer_id=7, producer_epoch=0, is_commit=False),
        transaction_marker(base_offset=4, producer_id=8, producer_epoch=0, is_commit=True),
    )
    answers = [_fate(f"a-0@{offset}", data).answer for offset in range(6)]
    assert answers == ["aborted", "present", "open-transaction", "control", "control", "not-written"]


def test_a_damaged_copy_is_named_beside_the_intact_ones(tmp_path: Path) -> None:
    batches = [batch(base_offset=offset, records=[record(value=b"v%d" % offset)]) for offset in range(3)]
    first, second = _partition(tmp_path / "one", *batches), _partition(tmp_path / "two", *batches)
    log = second / "a-0" / f"{FIRST}.log"
    data = bytearray(log.read_bytes())
    data[len(batches[0]) + len(batches[1]) - 1] ^= 1
    log.write_bytes(data)
    fate = _fate("a-0@1", first, second)
    assert (fate.answer, fate.copies, fate.damaged_on) == ("present", [str(first)], [str(second)])
    fate = _fate("a-0@1", second)
    assert (fate.answer, fate.copies, fate.damaged_on) == ("damaged", [], [str(second)])


def test_a_torn_end_may_have_held_the_record(tmp_path: Path) -> None:
    data = _partition(tmp_path / "one", *(batch(base_offset=offset, records=[record()]) for offset in range(2)))
    log = data / "a-0" / f"{FIRST}.log"
    log.write_bytes(log.read_bytes()[:-5])
    fate = _fate("a-0@1", data)
    assert fate.answer == "damaged"
    assert "it may also never have been written" in fate.evidence


def test_a_gap_that_no_cleaner_explains_is_missing(tmp_path: Path) -> None:
    data = _partition(tmp_path / "one", *(batch(base_offset=offset, records=[record()]) for offset in (0, 2)))
    assert _fate("a-0@1", data).answer == "missing"
    (data / "cleaner-offset-checkpoint").write_text("0\n1\na 0 3\n")
    fate = _fate("a-0@1", data)
    assert (fate.answer, fate.superseded_by) == ("compacted", None)
    assert "nobody knows its key" in fate.evidence


def test_the_last_value_of_a_key_is_not_called_compacted(tmp_path: Path) -> None:
    """Though the gap lies below the cleaner's checkpoint: an older copy shows that nothing replaced it."""
    rows = [batch(base_offset=offset, records=[record(key=b"k%d" % offset, value=b"v")]) for offset in range(3)]
    before, now = _partition(tmp_path / "before", *rows), _partition(tmp_path / "now", rows[0], rows[2])
    (now / "cleaner-offset-checkpoint").write_text("0\n1\na 0 3\n")
    fate = _fate("a-0@1", before, now)
    assert (fate.answer, fate.copies) == ("missing", [str(before)])


def test_sequences_that_a_producer_skipped_are_named(tmp_path: Path) -> None:
    def of(offset: int, sequence: int) -> bytes:
        return batch(base_offset=offset, records=[record()], producer_id=5, producer_epoch=0, base_sequence=sequence)

    data = _partition(tmp_path / "one", of(0, 0), of(1, 3))
    assert _fate("a-0@2", data).missing_sequences == [{"producerId": 5, "producerEpoch": 0, "first": 1, "last": 2}]
    (data / "cleaner-offset-checkpoint").write_text("0\n1\na 0 1\n")
    assert _fate("a-0@2", data).missing_sequences == []


def test_an_answer_is_not_certain_if_something_could_not_be_read(tmp_path: Path) -> None:
    data = _partition(tmp_path / "one", batch(base_offset=0, records=[record()]))
    found = kdump.where("a-0@5", data, tmp_path / "none")
    (fate,) = found
    assert (fate.answer, found.is_certain) == ("not-written", False)
    assert "not everything could be read" in fate.evidence
    found = kdump.where("b-0@5", data)
    assert ([fate.answer for fate in found], found.is_certain) == (["not-found"], False)


@pytest.mark.parametrize("question", ["a-0", "a@5", "a-0@x", "-0@1", "a-0@-1"])
def test_a_question_that_names_no_record_is_refused(question: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="write TOPIC-PARTITION@OFFSET"):
        kdump.where(question, tmp_path)


# --- the command


@pytest.mark.parametrize(("offset", "code"), [(0, 0), (9, 1)])
def test_the_exit_code_says_whether_it_is_there(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], offset: int, code: int
) -> None:
    data = _partition(tmp_path / "one", batch(base_offset=0, records=[record(key=b"k")]))
    assert commands.main(["where", f"a-0@{offset}", str(data)]) == code
    assert capfd.readouterr().out.startswith(f"a-0@{offset}   {'not-written' if code else 'present   key k'}\n")


def test_rows_have_all_fields(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = _partition(tmp_path / "one", batch(base_offset=4, records=[record(key=b"k", value=b"v")]), base=4)
    assert commands.main(["where", "--key", "6b", "--hex", str(data), "--output", "ndjson"]) == 0
    row = json.loads(capfd.readouterr().out)
    assert (row["offset"], row["answer"], row["tombstone"], row["logStart"], row["logEnd"]) == (4, "present", False, 4, 5)


def test_more_records_with_a_key_may_lie_in_what_could_not_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batches = [batch(base_offset=offset, records=[record(key=b"k", value=b"v" * 100)]) for offset in range(3)]
    partition = write_partition(tmp_path, topic="a", segments={0: batches})
    assert commands.main(["where", "--key", "k", str(partition)]) == 0
    log = partition / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-20])
    assert commands.main(["where", "--key", "k", str(partition)]) == 3
    assert "there may be more records with this key" in capsys.readouterr().err
