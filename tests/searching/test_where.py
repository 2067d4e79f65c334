"""`kdump where`: the fates of records in scripted histories of real brokers, and in small logs.

`where.tar.xz` has logs and checkpoints of brokers 4.3.1, and `recorded.jsonl`: what happened to records that scripts wrote, and
what of it can be known from files.
"""

import json
import tarfile
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.cli import commands
from kdump.errors import Unreadable
from kdump.output.rows.fates import Fate, Place
from kdump.output.text.style import ReportStyle
from kdump.output.text.where import WhereReport
from kdump.reading import salvage
from tests.builders.files import checkpoint, offset_index, partition_metadata, producer_snapshot, write_partition
from tests.builders.fleets import flipped
from tests.builders.records import batch, record, transaction_marker
from tests.loops import each
from tests.support import Capture, Patch, let_fail
from tools import archives

FIRST = "00000000000000000000"
RECORDED = Path(__file__).with_name("where.tar.xz")


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("histories")
    with tarfile.open(RECORDED) as archive:
        archives.unpack(archive, folder)
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


def _partition(folder: Path, *batches: bytes, base: int = 0, topic: str = "a") -> Path:
    write_partition(folder, topic=topic, segments={base: list(batches)})
    return folder


def _batch(offset: int, value: bytes | None = None, **fields: Any) -> bytes:
    return batch(base_offset=offset, records=[record(value=value)], **fields)


def _fate(question: str, *paths: Path) -> Fate:
    (fate,) = kdump.where(question, *paths)
    return fate


def test_the_marker_after_a_record_decides(tmp_path: Path) -> None:
    fields: list[dict[str, Any]] = [{"producer_id": producer, "producer_epoch": 0, "base_sequence": 0} for producer in (7, 8, 9)]
    data = _partition(
        tmp_path / "data",
        *(_batch(offset, attributes=0x10, **of_producer) for offset, of_producer in enumerate(fields)),
        transaction_marker(base_offset=3, producer_id=7, producer_epoch=0, is_commit=False),
        transaction_marker(base_offset=4, producer_id=8, producer_epoch=0, is_commit=True),
        batch(records=[record(key=b"\0")], base_offset=5, is_control=True, producer_id=9, producer_epoch=0),
    )
    answers = [_fate(f"a-0@{offset}", data).answer for offset in range(7)]
    assert answers == ["aborted", "present", "open-transaction", *["control"] * 3, "not-written"], "what the last says is unknown"


OF_TRANSACTION = _batch(0, producer_id=7, producer_epoch=0, is_transactional=True)


def test_a_marker_that_its_broker_will_truncate_does_not_count(tmp_path: Path) -> None:
    committed = transaction_marker(base_offset=1, producer_id=7, is_commit=True)
    diverged = _partition(tmp_path / "diverged", OF_TRANSACTION, committed)
    aborted = transaction_marker(base_offset=2, producer_id=7, is_commit=False, partition_leader_epoch=1)
    leader = _partition(tmp_path / "leader", OF_TRANSACTION, _batch(1, partition_leader_epoch=1), aborted)
    assert _fate("a-0@0", diverged, leader).answer == "aborted"
    later = transaction_marker(base_offset=3, producer_id=7, is_commit=False)  # of a later transaction
    whole, cleaned = (_partition(tmp_path / str(at), OF_TRANSACTION, *([committed] * at), _batch(2), later) for at in (1, 0))
    assert _fate("a-0@0", whole, cleaned).answer == _fate("a-0@0", cleaned, whole).answer == "present"


def test_a_replica_that_ends_where_the_next_leader_epoch_begins_is_behind(tmp_path: Path) -> None:
    behind = _partition(tmp_path / "behind", _batch(0), _batch(1))
    leader = _partition(tmp_path / "leader", _batch(0), _batch(1), _batch(2, partition_leader_epoch=1))
    assert _fate("a-0@2", behind, leader).answer == "only-on"


def test_copies_of_topics_with_different_ids_are_not_taken_for_one_topic_without_a_word(tmp_path: Path) -> None:
    for name in ("new", "old"):
        _partition(tmp_path / name, _batch(0))
    (tmp_path / "old/a-0/partition.metadata").write_bytes(partition_metadata(topic_id="BAAAAAAAAAAAAAAAAAAAAQ"))
    said = f"AAAAAAAAAAAAAAAAAAAAAQ on {tmp_path}/new and BAAAAAAAAAAAAAAAAAAAAQ on {tmp_path}/old"
    evidence = _fate("a-0@0", tmp_path / "new", tmp_path / "old").evidence
    assert evidence == f"topics of several ids have this name, {said}: each had its own records"
    assert _fate("a-0@0", tmp_path / "new").evidence == ""


def test_a_log_whose_segments_are_all_deleted_ends_at_the_name_of_the_empty_one(tmp_path: Path) -> None:
    earlier = _partition(tmp_path / "earlier", _batch(0))
    now = _partition(tmp_path / "now", base=1)
    fate = _fate("a-0@0", earlier, now)
    assert (fate.answer, fate.copies, fate.log_end) == ("present", [str(earlier)], 1)
    fate = _fate("a-0@0", now)
    assert (fate.answer, fate.log_start, fate.log_end) == ("below-log-start", 1, 1)
    (now / "a-0" / f"{5:020}.log.deleted").write_bytes(_batch(5))
    assert [_fate(f"a-0@{offset}", now).answer for offset in (3, 5)] == ["not-written", "present-in-deleted-file"]


@each("count", [2, 3])
def test_a_damaged_copy_is_named_beside_the_intact_ones_and_not_called_behind(count: int, tmp_path: Path) -> None:
    """Whether its end is damaged, or what is before it."""
    batches = [_batch(offset, b"v%d" % offset) for offset in range(count)]
    first = _partition(tmp_path / "one", *batches)
    second = _partition(tmp_path / "two", batches[0], flipped(batches[1]), *batches[2:])
    fate = _fate("a-0@1", first, second)
    assert (fate.answer, fate.copies, fate.damaged_on) == ("present", [str(first)], [str(second)])
    fate = _fate("a-0@1", second)
    assert (fate.answer, fate.copies, fate.damaged_on) == ("damaged", [], [str(second)])
    (second / "a-0" / f"{FIRST}.log.deleted").write_bytes(batches[1])
    assert _fate("a-0@1", second).answer == "damaged", "that is the log which is read"


@each(
    "name, words",
    {
        f"{1:020}.log.deleted": "a file that brokers are about to delete",
        f"{1:020}.log.swap": "a .swap file, which a start puts in its place",
        f"{1:020}.log.cleaned": "a file of an unfinished cleaning, which a start deletes",
    }.items(),
)
def test_a_record_that_only_a_marked_file_has_is_not_missing_in_a_log_that_goes_on(name: str, words: str, tmp_path: Path) -> None:
    data = _partition(tmp_path, _batch(0), batch(base_offset=1, records=[]), _batch(2))
    assert f"{FIRST}.log is of offset 1 and holds no record; " in _fate("a-0@1", data).evidence
    (data / "a-0" / f"{FIRST}.log").write_bytes(_batch(0) + _batch(2))
    (data / "a-0" / name).write_bytes(_batch(1))
    fate = _fate("a-0@1", data)
    assert (fate.answer, fate.evidence) == ("present-in-deleted-file", f"only in {words}")


def test_what_a_checkpoint_cannot_know_and_a_batch_does_not_say_truncates_nothing(tmp_path: Path) -> None:
    """Epochs before the first that a checkpoint has, and those of batches without one."""
    now = _partition(tmp_path / "now", *(_batch(at, partition_leader_epoch=2 * at - 1) for at in (2, 3)), base=2)
    (now / "a-0" / "leader-epoch-checkpoint").write_text("0\n2\n3 2\n5 3\n")
    other = _partition(tmp_path / "other", *(_batch(at, partition_leader_epoch=epoch) for at, epoch in enumerate((-1, 2, 3, -1))))
    fates = [_fate(f"a-0@{offset}", now, other) for offset in range(4)]
    assert [(fate.answer, len(fate.copies), fate.also) for fate in fates] == [("present", 1 + at // 2, []) for at in range(4)]


@each("at", [0, 2])
def test_only_damage_after_a_record_may_hold_the_marker_of_its_transaction(at: int, tmp_path: Path) -> None:
    batches = [_batch(0), _batch(1, producer_id=7, producer_epoch=0, is_transactional=True), _batch(2)]
    batches[at] = flipped(batches[at])
    fate = _fate("a-0@1", _partition(tmp_path, *batches))
    assert (fate.answer, "it may be in what is damaged" in fate.evidence) == ("open-transaction", at == 2)


def test_a_torn_end_may_have_held_the_record(tmp_path: Path) -> None:
    fate = _fate("a-0@1", _partition(tmp_path / "one", _batch(0), _batch(1)[:-5]))
    assert fate.answer == "damaged"
    assert "it may also never have been written" in fate.evidence
    fields: list[dict[str, Any]] = [
        {"last_offset_delta": delta, "records_count": count} for delta, count in ((-1, 0), (-2, -1), (7, 1))
    ]
    contradicting = [batch(base_offset=1, records=[record()], **of_header)[:-1] for of_header in fields]
    for number, torn in enumerate((*contradicting, _batch(1)[:16], _batch(1)[:60])):
        assert _fate("a-0@99999", _partition(tmp_path / str(number), _batch(0), torn)).answer == "damaged", "any later one"


@each(("tail", "answer", "words"), [(b"garbage" * 99, "damaged", "damaged, offsets from 1"), (bytes(693), "not-written", "zero")])
def test_what_follows_the_last_batch_is_named(tail: bytes, answer: str, words: str, tmp_path: Path) -> None:
    first = _batch(0)
    one = _partition(tmp_path / "one", first)
    (one / "a-0" / f"{FIRST}.log").write_bytes(first + tail)
    fate = _fate("a-0@1", one)
    assert fate.answer == answer and f"bytes {len(first)} to {len(first + tail) - 1}" in fate.evidence
    assert f"are {words}" in fate.evidence
    codes = [commands.main(["where", *question, str(one)]) for question in (["a-0@1"], ["a-0@0"], ["--key", "none"])]
    assert codes == [1 if answer == "damaged" else 3, 0, 3], "nothing is proven absent where zeros are"
    fate = _fate("a-0@1", one, _partition(tmp_path / "two", first, _batch(1)))
    assert fate.answer == ("present" if answer == "damaged" else "only-on"), "another copy has it"
    found = kdump.where("a-0@2", one, tmp_path / "two")
    assert ([fate.answer for fate in found], found.is_certain) == ([answer], True), "and goes on after the zeros"


def test_an_offset_after_what_a_torn_batch_claims_is_beyond_the_end(tmp_path: Path, capfd: Capture) -> None:
    torn = batch(base_offset=2, records=[record(offset_delta=delta) for delta in range(3)])[:-5]
    data = _partition(tmp_path / "one", _batch(0), _batch(1), torn)
    last = 2 + len(torn) - 1  # a byte is the least that a record takes, whatever the header says
    answers = {1: "present", **dict.fromkeys((2, 4, 5, last), "damaged"), **dict.fromkeys((last + 1, 99_999), "not-written")}
    assert {offset: _fate(f"a-0@{offset}", data).answer for offset in answers} == answers
    assert commands.main(["where", "a-0@99999", str(data)]) == 3
    out = capfd.readouterr().out
    assert out.startswith("a-0@99999   beyond the end (not-written)\n")
    assert f"are damaged: they may hold offsets from 2 to {last}" in " ".join(out.split())


DELETED = "old/a-0/00000000000000000000.log.deleted"
SAVED = "KEEP/00000000000000000000.log.deleted"
SHOW = "kdump log --deep --output table --offset"


@pytest.mark.parametrize(
    ("question", "answer", "lines"),
    [
        ("a-0@1", "present. Exit status 0.", [f"{SHOW} 1 new/a-0/00000000000000000001.log   # shows the record"]),
        (
            "a-0@0",
            "present-in-deleted-file. Exit status 1.",
            [
                f"mkdir -p KEEP && cp -p {DELETED} {SAVED}   # now: brokers delete it after a minute (file.delete.delay.ms)",
                f"{SHOW} 0 {DELETED}   # shows the record",
            ],
        ),
        ("a-0@9", "beyond the end (not-written). Exit status 1.", []),
    ],
)
def test_the_last_lines_show_the_record_and_the_answer(
    question: str, answer: str, lines: list[str], tmp_path: Path, monkeypatch: Patch, capfd: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    old = _partition(Path("old"), _batch(0)) / "a-0" / f"{FIRST}.log"
    old.rename(f"{old}.deleted")
    _partition(Path("new"), batch(base_offset=1, records=[record(key=b"k")]), base=1)
    commands.main(["where", question, "old", "new"])
    steps, _, end = capfd.readouterr().out.partition("\n\n")
    assert steps.partition("Next\n")[2].splitlines() == [f"  {line}" for line in lines]
    command = [f"Do: {line.partition('   # ')[0]}" for line in lines[:1]]
    assert end.splitlines() == [f"Answer: {question}: {answer}", *command]


def test_a_directory_that_was_set_aside_is_not_about_to_be_deleted(tmp_path: Path, capfd: Capture) -> None:
    data = _partition(tmp_path / "data", _batch(0))
    (data / "a-0").rename(data / "a-0.0123456789abcdef0123456789abcdef-stray")
    assert commands.main(["where", "a-0@0", str(data)]) == 1
    out = capfd.readouterr().out
    assert "only in a directory that a broker set aside (-stray)" in " ".join(out.split())
    assert "shows the record" in out and "delete" not in out.replace("present-in-deleted-file", "")


def test_of_many_records_the_answer_says_how_many(tmp_path: Path, capfd: Capture) -> None:
    rows = [batch(base_offset=offset, records=[record(key=b"k")]) for offset in range(3)]
    rows[1] = flipped(rows[1])
    data = _partition(tmp_path / "one", *rows)
    assert commands.main(["where", "--key", "k", str(data)]) == 3
    assert capfd.readouterr().out.splitlines()[-2] == "Answer: 2 records: present. Exit status 3."


@pytest.mark.parametrize("bit", [1, 2, 18, 40])
def test_the_offsets_of_a_batch_whose_header_claims_others_are_damaged(bit: int, tmp_path: Path) -> None:
    """No checksum covers the base offset; what the batch holds is still found by its key."""
    batches = [
        batch(base_offset=at, records=[record(key=b"k%d" % offset, value=b"v") for offset in range(at, at + 4)])
        for at in range(0, 48, 4)
    ]
    wrong = 24 ^ 1 << bit
    batches[6] = wrong.to_bytes(8, "big") + batches[6][8:]
    write_partition(tmp_path, topic="orders", segments={0: batches})
    (row,) = kdump.where("orders-0@25", tmp_path)
    assert row.answer == "damaged" and f"claims offset {wrong:,}, and the batches around it leave only 24" in row.evidence
    (row,) = kdump.where(None, tmp_path, key="k25")
    assert (row.answer, row.offset) == ("present", wrong + 1) and "the offsets in its header may be wrong" in row.evidence


@pytest.mark.parametrize("witness", ["high watermark", "index", "snapshot", None])
def test_an_offset_after_the_log_that_other_files_know_of_is_lost(witness: str | None, tmp_path: Path) -> None:
    batches = [batch(base_offset=at, records=[record(value=b"v")]) for at in range(10)]
    path, other = (write_partition(tmp_path / name, topic="orders", segments={0: batches}) for name in "ab")
    index = path / f"{0:020}.index"
    index.write_bytes(offset_index(entries=[(19, 5000)]) if witness == "index" else b"")
    if witness == "high watermark":
        (tmp_path / "a/replication-offset-checkpoint").write_bytes(checkpoint(entries=[("orders", 0, 20)]))
    elif witness == "snapshot":
        (path / f"{20:020}.snapshot").write_bytes(producer_snapshot())
    for copies in ((path,), (path, other), (other, path)):
        answers = [_fate(f"orders-0@{offset}", *copies).answer for offset in (9, 10, 19, 20)]
        assert answers == ["present", *2 * ["missing" if witness else "not-written"], "not-written"]


def test_a_gap_in_the_metadata_log_is_lost(tmp_path: Path) -> None:
    fate = _fate("__cluster_metadata-0@1", _partition(tmp_path, _batch(0), _batch(2), topic="__cluster_metadata"))
    why = "the log starts before it and goes on after it: it is lost, because the metadata log cannot be compacted"
    assert (fate.answer, fate.evidence) == ("missing", why)


@each("gone", [0, 1])
def test_what_was_in_a_segment_of_which_indexes_are_left_is_lost(gone: int, tmp_path: Path) -> None:
    path = write_partition(tmp_path, topic="t", segments={at: [_batch(at)] for at in (0, 1, 2)})
    (path / f"{gone:020d}.log").unlink()
    (row,) = kdump.where(f"t-0@{gone}", tmp_path)
    assert row.answer == "missing"
    assert row.evidence.endswith(f": it is lost: of the segment from {gone} on, only indexes are there")
    (path / f"{gone:020d}.log.1").write_bytes(_batch(gone))  # as logrotate renames it
    said = [next(iter(kdump.where(f"t-0@{offset}", tmp_path))).evidence[-18:] for offset in (gone, 2)]
    assert said == ["under another name", ""]


def test_the_last_value_of_a_key_is_not_called_compacted_nor_missing(tmp_path: Path) -> None:
    """Though the gap lies below the cleaner's checkpoint: an older copy shows that nothing replaced it."""
    rows = [batch(base_offset=offset, records=[record(key=b"k%d" % offset, value=b"v")]) for offset in range(3)]
    before, now = _partition(tmp_path / "before", *rows), _partition(tmp_path / "now", rows[0], rows[2])
    (now / "cleaner-offset-checkpoint").write_text("0\n1\na 0 3\n")
    fate = _fate("a-0@1", before, now)
    assert (fate.answer, fate.copies) == ("only-on", [str(before)])
    assert fate.evidence.endswith(f"it may be lost in {now}")
    purged = _partition(tmp_path / "purged", *rows)
    (purged / "log-start-offset-checkpoint").write_text("0\n1\na 0 3\n")
    assert _fate("a-0@1", purged, before, now).answer == "only-on"
    assert _fate("a-0@1", purged, now).answer == "below-log-start"
    (now / "a-0").rename(now / f"a-0.{'0' * 32}-delete")
    assert _fate("a-0@1", before, now).answer == "present", "what is to be deleted has no say"
    _partition(now, rows[0], flipped(rows[1]), rows[2])
    assert _fate("a-0@1", now).answer == "damaged"
    fate = _fate("a-0@1", purged, now)
    assert (fate.answer, fate.evidence) == ("below-log-start", f"the log starts later ({purged}: 3)")


def test_an_answer_is_not_certain_if_something_could_not_be_read(tmp_path: Path) -> None:
    data = _partition(tmp_path / "one", _batch(0))
    found = kdump.where("a-0@5", data, tmp_path / "none")
    (fate,) = found
    assert (fate.answer, found.is_certain) == ("not-written", False)
    assert "not everything could be read" in fate.evidence
    found = kdump.where("b-0@5", data)
    (fate,) = found
    assert (fate.answer, found.is_certain) == ("not-found", False)
    assert fate.evidence == "no log of this partition is below these paths, but of a-0"
    for number, said in enumerate(("a-0, t0-0", "a-0, t0-0, t1-0", "a-0, t0-0, t1-0 and 1 more")):
        _partition(data, _batch(0), topic=f"t{number}")
        assert _fate("b-0@5", data).evidence.endswith(f", but of {said}")
    both = _partition(_partition(tmp_path / "both", flipped(_batch(0))), _batch(0), topic="b")
    found = kdump.where(None, both, key="k")
    (fate,) = found
    assert (fate.answer, fate.damaged_on, found.is_certain) == ("not-found", [str(both)], False)


CHECKPOINTS = ("log-start-offset-checkpoint", "cleaner-offset-checkpoint", "a-0/leader-epoch-checkpoint")


@pytest.mark.parametrize("name", [*CHECKPOINTS, f"a-0/{FIRST}.log", "a-0"])
def test_an_answer_is_unsure_if_a_copy_could_not_be_read(name: str, tmp_path: Path, monkeypatch: Patch, capfd: Capture) -> None:
    """A copy with a higher leader epoch may have truncated the record, and a later log start may hide it."""
    one, other = (_partition(tmp_path / broker, _batch(0)) for broker in ("one", "other"))
    for path in CHECKPOINTS:
        (other / path).write_text("0\n0\n")
    assert commands.main(["where", "a-0@0", str(one), str(other)]) == 0
    failing = str(other / name)
    for function in ("open", "scandir", "listdir"):
        let_fail(monkeypatch, function, failing)
    capfd.readouterr()
    assert commands.main(["where", "a-0@0", str(one), str(other)]) == 3
    out = " ".join(capfd.readouterr().out.split())
    assert out.startswith(("a-0@0 present", "a-0@0 only-on"))
    assert f"not everything could be read: {failing}: " in out and "nput/output error" in out


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_an_answer_is_not_certain_if_a_checkpoint_may_lack_what_decides(name: str, tmp_path: Path) -> None:
    copy = _partition(tmp_path / "one", _batch(0))
    texts = {"": True, "0\n0\n": True, "\0" * 20: False, "0\n2\n": False, "0\n1\na 0 x\n": False, "1\n0\n": False}
    for text, is_certain in texts.items():
        (copy / name).write_text(text)
        found = kdump.where("a-0@0", copy)
        (fate,) = found
        assert (text, fate.answer, found.is_certain) == (text, "present", is_certain)
        assert (f"not everything could be read: {copy / name}: " in fate.evidence) is not is_certain


def test_a_transaction_whose_marker_could_not_be_read_is_not_certain(tmp_path: Path, monkeypatch: Patch) -> None:
    batches = [
        batch(base_offset=0, records=[record()], producer_id=7, attributes=0x10),
        transaction_marker(base_offset=1, producer_id=7),
    ]
    data = _partition(tmp_path / "one", *batches)
    assert _fate("a-0@0", data).answer != "open"
    walk, walks = salvage.walk, count()

    def fails_later(source: Any, **_: Any) -> Any:
        if next(walks):
            raise Unreadable("file-io-error", "Input/output error", path=source.path)
        return walk(source)

    monkeypatch.setattr(salvage, "walk", fails_later)
    found = kdump.where("a-0@0", data)
    (fate,) = found
    assert (fate.answer, found.is_certain) == ("open-transaction", False)
    assert "Input/output error" in fate.evidence


# --- the command


KNOWN: dict[str, Any] = {"copies": ["/x", "/y"], "damaged_on": ["/z"], "leader_epoch": 0, "superseded_by": 1234}
KNOWN |= {"tombstone": True, "log_start": 3, "log_end": 1007, "bytes": True, "evidence": "why"}
KNOWN["missing_sequences"] = [{"producerId": 5, "producerEpoch": 0, "first": 1, "last": 2}]
KNOWN["also"] = [{"answer": "truncated", "leaderEpoch": 2, "copies": ["/w", "/v"]}]
NOTHING: dict[str, Any] = {"copies": ["/x"], "damaged_on": [], "leader_epoch": -1, "superseded_by": None, "evidence": ""}
NOTHING |= {"tombstone": False, "log_start": 3, "log_end": 1007, "bytes": False, "missing_sequences": [], "also": []}
REPORT = """\
a-1@7   damaged   key k
  on       /x, /y
  damaged  /z
  facts    superseded at offset 1,234; a tombstone; leader epoch 0; its bytes are still in the segment; \
the log has offsets 3 to 1,006
  missing  sequences 1 to 2 of producer 5, epoch 0: 2 records missing
  also     truncated: a record of leader epoch 2 on /w, /v
  because  why
a-1@1007   present
  on       /x
  facts    its bytes are gone; the log has offsets 3 to 1,006, by the headers of its batches
a-1@2   below-log-start
  on       /x
  facts    its bytes are gone; the log is empty from 3 on
"""


def test_a_report_has_all_that_is_known_of_each_record() -> None:
    lines: list[str] = []
    report = WhereReport(lines.append, ReportStyle(width=200))
    empty = (2, None, "below-log-start", {**NOTHING, "log_end": 3})
    for offset, key, answer, known in ((7, "k", "damaged", KNOWN), (1007, None, "present", NOTHING), empty):
        fate = Fate(topic="a", partition=1, offset=offset, key=key, answer=answer, **known)
        fate.places = [Place(f"/{number}.log", 61, not number, number != 1) for number in range(3)]
        fate.damaged_in = [f"/p{number}" for number in range(4)] if known is KNOWN else []
        report.answer(fate)
    assert "".join(lines) == REPORT
    report.end(3)
    text = "".join(lines)
    assert "Answer: 3 records: 1 damaged, 1 present, 1 below-log-start. Exit status 3." in text
    assert text.count("KEEP/0.log") == 2 and "KEEP/1.log" not in text
    looks = ["--offset 7 /0.log", "--from-position 61 --limit 1 /1.log", "--offset 7 /2.log"]
    assert [f"kdump log --deep --output table {look}" in text for look in looks] == [True] * 3
    assert [f"kdump check /p{number}" in text for number in range(4)] == [True] * 3 + [False] and "1007 /" not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *((f"-- {question} {{0}}", "write TOPIC-PARTITION@OFFSET") for question in ("a-0", "a@5", "a-0@x", "-0@1", "a-0@-1")),
        ("", "where needs TOPIC-PARTITION@OFFSET or --key K, and a path"),
        *((words, "where needs a path") for words in ("a-0@0", "--key k")),
        *((f"{of} a-0@0 {{0}}", "TOPIC-PARTITION@OFFSET names one partition") for of in ("--topics a", "--partitions 0")),
    ],
)
def test_what_names_no_record_or_no_path_is_refused(words: str, said: str, tmp_path: Path, capfd: Capture) -> None:
    assert commands.main(["where", *words.format(tmp_path).split()]) == 2
    assert said in capfd.readouterr().err


def test_rows_have_all_fields(tmp_path: Path, capfd: Capture) -> None:
    data = _partition(tmp_path / "one", batch(base_offset=4, records=[record(key=b"k", value=b"v")]), base=4)
    (data / "log-start-offset-checkpoint").write_text("0\n1\na 0 2\n")  # before the first segment
    assert commands.main(["where", "--key", "6b", "--hex", str(data), "--output", "ndjson"]) == 0
    row = json.loads(capfd.readouterr().out)
    assert (row["offset"], row["answer"], row["tombstone"], row["logStart"], row["logEnd"]) == (4, "present", False, 4, 5)


def test_more_records_with_a_key_may_lie_in_what_could_not_be_read(tmp_path: Path, capsys: Capture) -> None:
    batches = [batch(base_offset=offset, records=[record(key=b"k", value=b"v" * 100)]) for offset in range(3)]
    partition = write_partition(tmp_path, topic="a", segments={0: batches})
    assert commands.main(["where", "--key", "k", str(partition)]) == 0
    log = partition / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-20])
    assert commands.main(["where", "--key", "k", str(partition)]) == 3
    assert "there may be more records with this key" in capsys.readouterr().err
