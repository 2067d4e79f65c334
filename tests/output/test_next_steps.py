"""Every line that a report prints under "Next" works as it is typed: in this order, in a fresh folder, with a real shell."""

import gzip
import json
import os
import select
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kdump.checks.finding import ERROR
from kdump.cli.commands import main
from kdump.exit_codes import NOT_EXAMINED
from tests.builders.files import file_name, write_partition
from tests.builders.records import TIMESTAMP, batch, record
from tests.checks.faults.case import LOG_DIRECTORY, PARTITION, FaultCase, write
from tests.checks.faults.test_faults import ONE_OF_EACH_CODE
from tests.loops import each
from tests.support import Capture, Patch

BASH = "/bin/bash"
UNDISTURBED = FaultCase.__dataclass_fields__["during"].default

CHANGES = ("   # with the broker stopped: ", "   # with the broker stopped; ", "   # last resort, with the broker stopped: ")
"""How the comments of lines begin that change what is there; no other line may."""

GAPS = ("offset-gap", "segment-missing", "segments-gap")
"""What a copy may have that its input has not, where `recover` says with its exit status that something is lost."""

OPTIONS = {"level": "--level", "cleanup_policy": "--cleanup-policy", "is_pedantic": "--pedantic"}
"""The options of a check for some settings of cases."""

_KDUMP = """kdump() { printf '%s\\0' "$@" '' >&{ask}; local code; read -r code <&{answer}; return "$code"; }"""


def type_line(line: str) -> tuple[int, list[str]]:
    """Type a line in a shell, where `kdump` runs in this process. Returns its exit status, and what kdump was given."""
    words: list[str] = []
    ask, asks = os.pipe()
    answers, answer = os.pipe()
    script = _KDUMP.replace("{ask}", str(asks)).replace("{answer}", str(answers))
    with subprocess.Popen([BASH, "-c", f"{script}\n{line}"], pass_fds=(asks, answers), stdin=subprocess.DEVNULL) as shell:
        os.close(asks)
        os.close(answers)
        asked = b""
        while select.select([ask], [], []) and (data := os.read(ask, 1 << 16)):
            asked += data
            if asked.endswith(b"\0\0"):
                words, asked = [os.fsdecode(word) for word in asked[:-2].split(b"\0")], b""
                os.write(answer, b"%d\n" % main(words))
        os.close(ask)
        os.close(answer)
    return shell.returncode, words


def next_lines(text: str) -> list[str]:
    lines = text.partition("\nNext\n")[2].split("\n")
    return [line[2:] for line in lines[: next((row for row, line in enumerate(lines) if line[:2] != "  "), len(lines))]]


def contents(root: Path) -> dict[str, object]:
    """All that is below a directory, or in a file: bytes, or of what is large or is no file, what the system says."""
    found: dict[str, object] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        is_read = path.is_file() and not path.is_symlink() and status.st_size < 1 << 22
        is_folder = path.is_dir() and not path.is_symlink()
        kept = path.read_bytes() if is_read else (status.st_mode, status.st_ino) if is_folder else tuple(status[:7])
        found[str(path)] = kept
    return found


class Typist:
    """Types the lines of a report in the folder in which it was made, and looks at what each does."""

    def __init__(self, folder: Path, capfd: Capture) -> None:
        self._folder = folder
        self._capfd = capfd
        self._could_read = True
        self.codes: dict[str, int] = {}
        """What was typed, by its line, and its exit status."""

    def report(self, *words: str) -> str:
        self._capfd.readouterr()
        self._could_read = main([*words]) != NOT_EXAMINED
        return self._capfd.readouterr().out

    def type_all(self, text: str, evidence: Path, *, is_changing: bool = False) -> None:
        """Type all lines under "Next" of a text. If the evidence `is_changing`, what is found may be another thing by then."""
        documented = (0, 1) if self._could_read else (0, 1, NOT_EXAMINED)
        has_changed = False
        there = sorted(os.listdir(self._folder))
        for line in next_lines(text):
            assert line == line.strip() and line.isprintable()
            if line.startswith("#"):
                continue
            changes = any(mark in line for mark in CHANGES)
            assert changes or not has_changed, f"a line that only looks or copies comes after one that changes something: {line}"
            has_changed |= changes
            before = None if changes else contents(evidence)
            code, words = type_line(line)
            said = self._capfd.readouterr()
            self.codes[line] = code
            assert code in (documented if line.startswith("kdump ") else (0,)), (line, said)
            assert before is None or contents(evidence) == before, f"changes the evidence: {line}"
            made = [name for name in os.listdir(self._folder) if name not in there]
            assert all(name.partition("-")[0] in ("KEEP", "NEW") for name in made), line
            for follows in next_lines(said.out) if words[:1] == ["recover"] else ():
                is_typed = not follows.startswith("# ") and not any(mark in follows for mark in CHANGES)
                assert not is_typed or type_line(follows)[0] in documented, follows
            if words[:1] in (["recover"], ["reindex"]) and code != NOT_EXAMINED and not is_changing:
                self._judge(words, code)

    def _judge(self, words: list[str], code: int) -> None:
        """What is mended has no error that the command is there for, and lacks some that the input has."""
        given, made = words[1], words[words.index("-o") + 1]
        assert os.path.basename(os.path.abspath(given)) == os.path.basename(made)
        before, after = self._findings(given), self._findings(made)
        errors = {(name, severity) for name, severity in after if severity == ERROR and not (code and name in GAPS)}
        assert errors <= before, (words, errors - before)
        assert before - after, f"there was nothing to mend: {words}"
        assert code or not errors

    def _findings(self, path: str) -> set[tuple[str, str]]:
        self._capfd.readouterr()
        main(["check", "--level", "deep", "--output", "ndjson", path])
        rows = map(json.loads, self._capfd.readouterr().out.splitlines())
        return {(row["code"], row["severity"]) for row in rows if row["kind"] == "finding"}


def _typist_in(folder: Path, monkeypatch: Patch, capfd: Capture) -> Typist:
    """A typist in a fresh folder in this one, which becomes the current one."""
    fresh = folder / "fresh"
    fresh.mkdir()
    monkeypatch.chdir(fresh)
    return Typist(fresh, capfd)


@pytest.fixture
def typist(tmp_path: Path, monkeypatch: Patch, capfd: Capture) -> Typist:
    return _typist_in(tmp_path, monkeypatch, capfd)


def _options(case: FaultCase) -> list[str]:
    words = []
    for name, value in case.settings.items():
        if name in OPTIONS:
            words += [OPTIONS[name]] if value is True else [OPTIONS[name], str(value)]
    return words


@each("command", ["check", "forecast"], share=16)
@each("case", ONE_OF_EACH_CODE, ids=str)
def test_what_a_report_of_any_fault_suggests_works_as_it_is_typed(
    case: FaultCase, command: str, tmp_path: Path, monkeypatch: Patch, capfd: Capture
) -> None:
    typist = _typist_in(tmp_path, monkeypatch, capfd)
    name = "data" if case.scope == LOG_DIRECTORY else PARTITION
    written = write(case.shown, Path("data" if case.scope == LOG_DIRECTORY else "."), case.scope)
    case.arranged(written)
    with case.during(written):
        text = typist.report(command, *(_options(case) if command == "check" else ()), name)
    typist.type_all(text, Path(name), is_changing=case.during is not UNDISTURBED)


def _damaged(folder: Path, damage: str, name: str = PARTITION, *, segments: int = 3) -> Path:
    """A partition of some segments with all companions, damaged."""
    topic, _, partition = name.rpartition("-")
    directory = write_partition(
        folder,
        segments={base: [_batch(offset) for offset in range(base, base + 20)] for base in range(0, 20 * segments, 20)},
        topic=topic,
        partition=int(partition),
        index_interval_bytes=0,
    )
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}\n")
    DAMAGES[damage](directory)
    return directory


def _batch(offset: int) -> bytes:
    return batch(records=[record(value=b"v" * 300, timestamp=TIMESTAMP + offset)], base_offset=offset, partition_leader_epoch=0)


def _patched(name: str, position: int, data: bytes) -> Callable[[Path], None]:
    def patch(directory: Path) -> None:
        path = directory / name
        whole = path.read_bytes()
        at = position if position >= 0 else len(whole) + position
        path.write_bytes(whole[:at] + data + whole[at + len(data) :])

    return patch


def _written(name: str, data: bytes) -> Callable[[Path], None]:
    def put(directory: Path) -> None:
        (directory / name).write_bytes(data)

    return put


def _compressed(directory: Path) -> None:
    path = directory / file_name(FIRST, LOG)
    path.write_bytes(gzip.compress(path.read_bytes()))


def _packed(directory: Path) -> None:
    path = directory / file_name(SECOND, LOG)
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def _cut(name: str, size: int) -> Callable[[Path], None]:
    return lambda directory: os.truncate(directory / name, size)


def _all_of(*damages: Callable[[Path], None]) -> Callable[[Path], None]:
    def do(directory: Path) -> None:
        for damage in damages:
            damage(directory)

    return do


TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
FIRST, SECOND, THIRD = 0, 20, 40
LOG, INDEX, TIMES = ".log", ".index", ".timeindex"
_ZEROED = _patched(file_name(SECOND, LOG), 2048, bytes(1024))
_FLIPPED = _patched(file_name(THIRD, LOG), 1000, b"\xff")
DAMAGES: dict[str, Callable[[Path], None]] = {
    "sound": lambda _directory: None,
    "a page of zeros": _ZEROED,
    "a page of zeros at the end": _patched(file_name(THIRD, LOG), -600, bytes(600)),
    "a flipped bit": _FLIPPED,
    "two segments": _all_of(_ZEROED, _FLIPPED),
    "a torn tail": _cut(file_name(THIRD, LOG), 5000),
    "a sealed log cut": _cut(file_name(FIRST, LOG), 3000),
    "a log gone": lambda directory: (directory / file_name(SECOND, LOG)).unlink(),
    "an index gone": lambda directory: (directory / file_name(SECOND, INDEX)).unlink(),
    "a broken index": _patched(file_name(FIRST, INDEX), 12, b"\x00\x00\x00\x07"),
    "an index of odd size": _cut(file_name(FIRST, INDEX), 13),
    "a broken time index": _patched(file_name(FIRST, TIMES), 24, b"\xff" * 12),
    "an index and a log": _all_of(_patched(file_name(FIRST, INDEX), 12, b"\x00\x00\x00\x07"), _FLIPPED),
    "a zeroed index of a damaged log": _all_of(_patched(file_name(SECOND, INDEX), 0, bytes(64)), _ZEROED),
    "leader epochs": _written("leader-epoch-checkpoint", b"0\n7\n0 0\n"),
    "no partition.metadata": lambda directory: (directory / "partition.metadata").unlink(),
    "an empty partition.metadata": _written("partition.metadata", b""),
    "a compressed log": _compressed,
    "a packed log": _packed,
    "a name without a number": _written("notes.log", b"notes"),
    "a stray snapshot": _written(file_name(3, ".snapshot"), b"\x00\x01" * 9),
}

MENDED_BY: dict[str, set[str]] = {
    **{one: set() for one in ("a compressed log", "a packed log", "sound", "a log gone")},
    **{one: set() for one in ("no partition.metadata", "an empty partition.metadata")},
    **{one: {"reindex"} for one in ("an index gone", "a broken index", "an index of odd size", "a broken time index")},
    **{one: {"reindex"} for one in ("leader epochs", "a stray snapshot")},
    "a name without a number": set(),  # notes are no log
}
"""The commands that mend, for damage that `recover` is not there for."""


def _log_directory(root: Path, checkpoint: str = "", *, node: int = 1) -> Path:
    """A log directory of a KRaft broker, that partitions are put into."""
    root.mkdir(parents=True)
    (root / "meta.properties").write_text(f"version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id={node}\n")
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"):
        (root / name).write_text("0\n0\n")
    if checkpoint:
        (root / "recovery-point-offset-checkpoint").write_text(checkpoint)
    return root


@each("command", ["check", "forecast"], share=5)
@each("damage", DAMAGES)
@each("name", [PARTITION, "copy of it"])
def test_what_a_report_of_a_damaged_partition_suggests_works_as_it_is_typed(
    name: str, damage: str, command: str, tmp_path: Path, monkeypatch: Patch, capfd: Capture
) -> None:
    typist = _typist_in(tmp_path, monkeypatch, capfd)
    _damaged(Path(), damage).rename(name)
    typist.type_all(typist.report(command, name), Path(name))
    mends = {word for line in typist.codes for word in ("recover", "reindex") if line.startswith(f"kdump {word} ")}
    assert command == "forecast" or mends == MENDED_BY.get(damage, {"recover"})


@pytest.mark.parametrize("command", ["check", "forecast"])
@pytest.mark.parametrize("checkpoint", ["", "0\n1\norders 3 30\n", "0\n9\norders 3 30\n"], ids=["zero", "thirty", "malformed"])
def test_what_a_report_of_a_log_directory_suggests_works_as_it_is_typed(checkpoint: str, command: str, typist: Typist) -> None:
    root = _log_directory(Path("data"), checkpoint)
    for number, damage in enumerate(DAMAGES):
        _damaged(root, damage, f"topic-{number}")
    (root / "lost+found").mkdir()
    (root / "topic-1.bak").mkdir()
    text = typist.report(command, "data")
    assert not any(f"cp -a {word} " in text for word in ("data", "data/", "./data"))
    typist.type_all(text, root)
    if command == "check":
        assert sum(line.startswith("kdump recover ") for line in typist.codes) == 2
        assert any(line.startswith("# and ") and line.endswith(" more to recover; --all lists each") for line in next_lines(text))


def test_what_keeps_a_broker_from_starting_by_its_name_is_to_be_moved_away(typist: Typist) -> None:
    root = _log_directory(Path("data"), "")
    path = write_partition(root, topic="orders", segments={0: [_batch(0)]})
    (path / f"{FIRST:020d} (1).log").write_bytes((path / file_name(FIRST, LOG)).read_bytes())
    (root / "posthog").mkdir()
    (root / "posthog/events").symlink_to("/var/lib/clickhouse/store/f21")  # leads nowhere, so it cannot be copied
    typist.type_all(typist.report("check", "data"), root)
    assert not any(line.startswith("kdump recover") for line in typist.codes)
    assert "orders-0   1 segment, 433 bytes, offset 0   fine" in typist.report("check", "data")


def test_what_is_missing_is_to_be_asked_of_other_replicas(typist: Typist) -> None:
    write_partition(Path("kafka"), topic="orders", partition=3, segments={0: [_batch(0)], 20: [_batch(20)]})
    Path("kafka/replication-offset-checkpoint").write_text("0\n1\norders 3 30\n")
    lines = next_lines(typist.report("check", "--cleanup-policy", "delete", "kafka"))
    for offset in (1, 21):
        assert f"# kdump where orders-3@{offset} kafka/orders-3 OTHER   # has another replica what is missing here?" in lines


def test_where_only_warnings_are_left_nothing_is_to_be_recovered(typist: Typist) -> None:
    root = _log_directory(Path("data"), "0\n1\norders 3 5\n")
    segments = {0: [_batch(offset) for offset in range(20)]}
    write_partition(root, segments=segments, topic="orders", partition=3, segment_index_bytes=1 << 10)
    _cut(file_name(FIRST, LOG), 5000)(root / "orders-3")
    text = typist.report("check", "data", "--ignore", "start-*")
    assert "torn-tail" in text and "Exit status 0." in text and "kdump recover" not in text
    assert "kdump recover" in typist.report("check", "data")


@pytest.mark.parametrize("command", ["check", "forecast"])
def test_partitions_of_one_name_get_different_places(command: str, typist: Typist) -> None:
    for name in ("a", "b"):
        _damaged(Path("both", name), "a page of zeros")
    typist.type_all(typist.report(command, "both/a", "both/b"), Path("both"))
    recovered = [line.split()[4] for line in typist.codes if line.startswith("kdump recover ")]
    assert recovered == ["NEW/orders-3", "NEW-2/orders-3"]
    assert all(Path(path, file_name(FIRST, LOG)).exists() for path in recovered)


@each("folder", ["with blank", "-dash", "it's", "$HOME;x", "new\nline", "\x1b[31mred", "ü", "a*"])
@each("command", ["check", "forecast"], share=2)
def test_names_are_words_of_a_shell(command: str, folder: str, tmp_path: Path, monkeypatch: Patch, capfd: Capture) -> None:
    typist = _typist_in(tmp_path, monkeypatch, capfd)
    _damaged(Path(folder), "an index and a log")
    text = typist.report(command, os.path.join(".", folder, PARTITION))
    assert next_lines(text) or command == "forecast"
    typist.type_all(text, Path(folder))


def test_a_name_that_begins_with_a_dash_is_no_option(typist: Typist) -> None:
    _damaged(Path(), "a page of zeros", "-x-3")
    typist.type_all(typist.report("check", "--", "-x-3"), Path("./-x-3"))
    assert Path("NEW/-x-3", file_name(FIRST, LOG)).exists()


@pytest.mark.parametrize("command", ["check", "forecast"])
@pytest.mark.parametrize("inside", [".", PARTITION])
def test_nothing_is_made_in_a_log_directory(inside: str, command: str, typist: Typist, monkeypatch: Patch) -> None:
    root = _log_directory(Path("data"))
    _damaged(root, "a page of zeros")
    fresh = Path.cwd()
    monkeypatch.chdir(root / inside)
    typist.type_all(typist.report(command, PARTITION if inside == "." else "."), fresh / "data")
    assert sorted(os.listdir(fresh)) == ["KEEP", "NEW", "data"]


def test_a_line_that_was_typed_before_has_another_place(typist: Typist) -> None:
    _damaged(Path(), "a page of zeros")
    typist.type_all(typist.report("check", PARTITION), Path(PARTITION))
    typist.type_all(typist.report("check", PARTITION), Path(PARTITION))
    assert Path("NEW-2", PARTITION).exists() and Path("KEEP-2", f"{PARTITION}.damaged").exists()
    assert sorted(os.listdir(Path("KEEP", f"{PARTITION}.damaged"))) == sorted(os.listdir(PARTITION))


@pytest.mark.parametrize("given", [f"data/{PARTITION}", f"data/{PARTITION}/", "it's/orders-3"])
@pytest.mark.parametrize("damage", ["a flipped bit", "a torn tail"])
def test_what_recover_made_gets_into_its_place_as_it_is_typed(damage: str, given: str, typist: Typist) -> None:
    old = _damaged(_log_directory(Path(given).parent), damage)
    before = contents(old)
    text = typist.report("recover", given, "-o", "NEW/any name")
    *looks, change = [line for line in next_lines(text) if not line.startswith("#")]
    assert [type_line(line)[0] for line in looks] in ([0], [1]) and contents(old) == before
    made = contents(Path("NEW/any name"))
    assert type_line(change) == (0, [])
    assert sorted(os.listdir(Path("NEW"))) == []
    assert list(contents(old).values())[1:] == list(made.values())[1:]  # the first is the directory
    kept = contents(Path("KEEP", PARTITION))
    assert list(kept.values())[1:] == list(before.values())[1:]


def test_what_recover_made_of_a_deleted_partition_does_not_get_its_name(typist: Typist) -> None:
    going = f"{PARTITION}.{'ab12' * 8}-delete"
    _damaged(_log_directory(Path("data")), "a flipped bit").rename(Path("data", going))
    lines = next_lines(typist.report("recover", f"data/{going}", "-o", f"NEW/{PARTITION}"))
    assert [line for line in lines if not line.startswith("#")] == [f"kdump check NEW/{PARTITION}   # what is in it"]
    assert any(line.startswith(f"# a broker serves it as {PARTITION}, if there is such a topic") for line in lines)


def test_segments_that_are_marked_as_deleted_are_never_left_out_without_a_word(typist: Typist) -> None:
    old = _damaged(Path("data"), "sound")
    for path in old.glob("0*.*"):
        path.rename(f"{path}.deleted")
    text = " ".join(typist.report("recover", str(old), "-o", "NEW/made").split())
    assert "Verified, without 3 segments marked as deleted (21.7 KiB), but 21.7 KiB lost: NEW/made. Exit status 1." in text
    look, rename = [line for line in next_lines(typist.report("recover", str(old), "-o", "NEW/again")) if line[0] != "#"]
    assert [type_line(line)[0] for line in (look, rename)] == [0, 0]
    assert main(["recover", f"NEW/{PARTITION}", "-o", "NEW/back"]) == 0 and Path("NEW/back", file_name(THIRD, LOG)).exists()
    Path(old, file_name(FIRST, LOG)).write_bytes(_batch(0))
    text = " ".join(typist.report("recover", str(old), "-o", "NEW/served").split())
    assert "Verified, without 3 segments marked as deleted (21.7 KiB): NEW/served. Exit status 0." in text


def test_what_recover_made_of_several_partitions_has_no_single_place(typist: Typist) -> None:
    root = _log_directory(Path("data"))
    for name in ("orders-3", "payments-0"):
        _damaged(root, "a flipped bit", name)
    lines = next_lines(typist.report("recover", "data", "-o", "NEW/data"))
    assert [line for line in lines if not line.startswith("#")] == ["kdump check NEW/data   # what is in it"]
    assert "# each new directory takes the place of the old one, under the same name, with the broker stopped" in lines


def _on_broker(number: int, *batches: bytes) -> Path:
    root = _log_directory(Path("brokers", str(number)), node=number)
    write_partition(root, segments={0: batches}, topic="orders", partition=3)
    return root


def _of_epoch(offset: int, epoch: int) -> bytes:
    records = [record(value=b"of epoch %d" % epoch, timestamp=TIMESTAMP + offset)]
    return batch(records=records, base_offset=offset, partition_leader_epoch=epoch)


def test_what_a_scan_suggests_works_as_it_is_typed(typist: Typist) -> None:
    common = [_of_epoch(offset, 0) for offset in range(3)]
    _on_broker(1, *common, _of_epoch(3, 0))
    _on_broker(2, *common, _of_epoch(3, 1), _of_epoch(4, 1))
    _damaged(_on_broker(3, *common[:1]), "a flipped bit", "payments-0")
    text = typist.report("scan", *(f"brokers/{number}" for number in (1, 2, 3)))
    assert "1 there and 0 here, broker 2 is right: broker 1 cuts" in " ".join(text.split())
    typist.type_all(text, Path("brokers"))
    assert list(typist.codes.values()) == [0, 0, 1] and Path("KEEP/orders-3.damaged").exists()


@pytest.mark.parametrize(("question", "code"), [("orders-3@3", 0), ("orders-3@45", 1), ("orders-3@99", None)])
def test_what_an_answer_suggests_works_as_it_is_typed(question: str, code: int | None, typist: Typist) -> None:
    _damaged(Path(), "a flipped bit")
    _patched(file_name(THIRD, LOG), 2200, b"\xff")(Path(PARTITION))
    typist.type_all(typist.report("where", question, PARTITION), Path(PARTITION))
    assert list(typist.codes.values()) == ([] if code is None else [code])


def test_a_link_to_a_partition_is_followed(typist: Typist) -> None:
    _damaged(Path("elsewhere"), "a page of zeros")
    Path(PARTITION).symlink_to(f"elsewhere/{PARTITION}")
    typist.type_all(typist.report("check", PARTITION), Path("elsewhere"))
    assert not Path("KEEP", f"{PARTITION}.damaged").is_symlink()
