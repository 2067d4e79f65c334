"""`kdump explain`: by code, by the name of an exception, by a line of a broker's log."""

import json
import lzma
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kdump
from golden_outputs.runs import CASES
from kdump.checks import catalogue
from kdump.checks.catalogue import searches
from kdump.checks.catalogue.lines import matching
from kdump.checks.catalogue.lines.exceptions import EXCEPTIONS, SILENT
from kdump.cli.commands import main
from tests.loops import each
from tests.output import kafka_messages

STARTS = Path(__file__).parent.parent / "restarts" / "starts.jsonl.xz"
FOUND, UNKNOWN, USAGE = 0, 1, 2


def _table(text: str) -> list[list[str]]:
    """The rows of a text, whose columns are divided by bars; what is indented belongs to the row above."""
    return [row.split(" | ") for row in re.sub("\n +", " ", text.strip("\n")).split("\n")]


def _run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["explain", *words])
    captured = capfd.readouterr()
    return status, captured.out, captured.err


def test_every_phrase_says_what_it_means_and_leads_to_faults_of_the_catalogue() -> None:
    for phrase in matching.PHRASES:
        assert set(phrase.codes) <= set(catalogue.FAULTS), phrase.words
        assert phrase.meaning and not phrase.meaning.endswith("."), phrase.words
        assert len(set(phrase.codes)) == len(phrase.codes), phrase.words
    for name, (meaning, codes) in EXCEPTIONS.items():
        assert meaning and set(codes) <= set(catalogue.FAULTS), name
    assert not EXCEPTIONS.keys() & set(SILENT)


def test_every_phrase_is_found_by_its_own_words() -> None:
    for phrase in matching.PHRASES:
        for words in phrase.words.split("|"):
            line = words.replace("{n}", "17").replace("{}", "x")
            found = matching.explain(f"[2026-11-22 10:00:00,123] ERROR {line}")
            assert phrase.meaning in {one.meaning for one in found.answers}, words


def test_what_recorded_starts_ended_with_and_said_is_known(capfd: pytest.CaptureFixture[str]) -> None:
    with lzma.open(STARTS, "rt") as lines:
        starts = [json.loads(line) for line in lines]
    names = {start.get("exception") for start in starts} - {None}
    assert "org.apache.kafka.common.errors.CorruptRecordException" in names
    for name in sorted(names):
        silent = name.rpartition(".")[2] in SILENT
        assert _run(capfd, name)[0] == (UNKNOWN if silent else FOUND), name
        assert _run(capfd, f"ERROR There was an error in one of the threads during logs loading: {name}")[0] == FOUND, name
    said = {re.sub(r"\d+", "7", one) for start in starts for one in start.get("said", [])}
    told = {one for one in said if one.startswith(("WARN", "ERROR")) and not one.startswith("WARN Utils: Failed atomic move")}
    assert len(told) > 50
    for one in sorted(told):
        assert _run(capfd, one)[0] == FOUND, one


def test_an_exception_leads_to_its_faults_the_likeliest_first(capfd: pytest.CaptureFixture[str]) -> None:
    first_lines = [
        "CorruptRecordException: a batch cannot be read: its checksum, length or magic is wrong.",
        "  error    crc-mismatch            the checksum of a batch does not match its bytes.",
    ]
    for name in ("CorruptRecordException", "org.apache.kafka.common.errors.CorruptRecordException"):
        status, out, _ = _run(capfd, name)
        assert (status, out.splitlines()[:2]) == (FOUND, first_lines)


@each(
    "line, checked",
    [
        ("log segment /var/lib/kafka/orders-3/00000000000000000200.log at byte", "/var/lib/kafka/orders-3"),
        ("log segment /a/it's/orders-3/00000000000000000200.log at byte", "'/a/it'\"'\"'s/orders-3'"),
        ("log segment '/data/orders-3/00000000000000000200.log' at byte", "/data/orders-3"),
        ("log segment 200.log [Log partition=orders-3, dir=/data] at byte", "/data/orders-3"),
        ("log segment Log(dir=/data/orders-3, topic=orders, partition=3) at byte", "/data/orders-3"),
        *(("log segment 200 in dir /data/kafka. at byte", "/data/kafka"), ("log segment 200.log at byte", "DIR")),
    ],
)
def test_a_line_that_names_a_file_says_what_to_check(capfd: pytest.CaptureFixture[str], line: str, checked: str) -> None:
    out = _run(capfd, f"Found invalid messages in {line} offset 4182.")[1]
    assert out.splitlines()[-1] == f"kdump check {checked}   # which of them it is, and where"


# What the answer must and must not contain, and lines of logs of brokers, controllers, Streams, Connect and clients.
POSTED = _table("""
the disk | crc-mismatch | java.io.IOException: No space left on device
io-error | crc-mismatch | java.io.IOException: Input/output error
vm.max_map_count | frame- | java.io.IOException: Map failed
ulimit | file-vanished | java.nio.file.FileSystemException: /data/t-0/00000000000000000010.log: Too many open files
replica-divergence | torn-tail | Exiting because log truncation is not allowed for partition t-0, current leader's
normal after an election | error  | Broker 2 sent a heartbeat request but received error NOT_CONTROLLER.
not replicated | cleaner | [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Error due to
local segments are kept | snapshot- | NullPointerException: Cannot invoke x because "producerStateSnapshotFile" is null
log.cleaner.dedupe.buffer.size | crc-mismatch | requirement failed: 5 messages in segment a-0/5.log but offset map can fit only 4
last run | error  | Error while creating ephemeral at /b, node already exists and owner '7' does not match current session
built again from the topic | io-error | ProcessorStateException: Error opening store counts at location /tmp/rocksdb
exactly-once | crc-mismatch | TaskCorruptedException: Tasks [{0_1=[a-1]}] are corrupted and hence need to be re-initialized
another serializer | frame- | DataException: Converting byte[] to Kafka Connect data failed due to serialization error:
not compacted | key-missing | Topic 'c' supplied via the 'x' property is required to have 'cleanup.policy=compact'
crc-mismatch | frame- | kafka server: Message contents does not match its CRC.
crc-mismatch | record-length-bad | kafka: error decoding packet: CRC didn't match expected 0x1 got 0x2
update the client | record-length-bad | kafka: error decoding packet: CRC didn't match expected 0x0 got 0xe38a6876
Windows | io-error | D:\\k\\5.log: The process cannot access the file because it is being used by another process.
dump tool | removed them. | Found 35 invalid bytes at the end of 00000000000000000123.log
index-offset-mismatch | crc-mismatch | Mismatches in :/k/t-0/00000000000000000123.index
offset-gap | crc-mismatch | Non-consecutive offsets in /k/t-0/00000000000000000123.log
record-length-bad | crc-mismatch | kafka: insufficient data to decode packet, more bytes expected
frame-damaged | payload-empty-compressed | %3|1736951549.320|ERROR|rdkafka#consumer-1| t [0]: Local: Invalid compressed data
crc-mismatch | frame- | t [0]: MessageSet at offset 5 (99 bytes) failed CRC32C check (original 0x1 != calculated 0x2)
record-length-bad | crc-mismatch | Local: Bad message format
idempotent | snapshot-gap | Local: Inconsistent state
retention | offset-regression | Broker: Offset out of range
crc-mismatch | frame- | encoded crc 1f does not match calculated crc 2e
crc-mismatch | frame- | kafka.errors.CorruptRecordError: Record batch for partition t-0 at offset 5 failed crc check
records are sound | frame- | UnsupportedCodecError: Libraries for snappy compression codec not found
name-not-numeric | crc-mismatch | java.lang.NumberFormatException: For input string: "foo"
cleaners of /tmp | torn-tail | java.nio.file.NoSuchFileException: /tmp/k/t-0/5.timeindex -> /tmp/k/t-0/5.timeindex.deleted
another broker process uses this directory | io-error | java.nio.channels.OverlappingFileLockException
io-error | torn-tail | kernel: blk_update_request: I/O error, dev sdb, sector 12345 op 0x0:(READ)
file-shrank | codec-unknown | java.io.EOFException: Failed to read `log header` from file channel `x`.
replica-divergence | torn-tail | UNCLEAN partition change for t-0 with topic ID Kx: isr: [1] -> [2], leader: -1 -> 2
This is normal | error | Incremented log start offset to 100 due to client delete records request
records expired | sequence-gap | Found no record of producerId=4000 on the broker. It is possible that the last message with the
was not written | crc-mismatch | kafka server: Message was too large, server rejected it to avoid allocation error
Windows | set the owner | java.nio.file.AccessDeniedException: C:\\k\\t-9 -> C:\\k\\t-9.4485e9949a8b4981bd351f83f52d59fd-delete
NFS | dmesg | java.nio.file.FileSystemException: /k/t-0/.nfs0000000000001234: Device or resource busy
does not show | finds a replica | t [4]: offset reset (at offset INVALID (leader epoch 5), broker 4) to offset BEGINNING:
    Unable to validate offset and epoch: Local: SSL error: Local: Partition log truncation detected
local state | frame- | org.rocksdb.RocksDBException: Corruption: block checksum mismatch: stored = 1, computed = 2
downgrade | crc-mismatch | org.apache.kafka.common.KafkaException: Unknown group metadata version 3
offset-overflow-int32 | crc- | requirement failed: largest offset in message set can not be safely converted to relative offset.
txn-hanging | frame- | The following partitions still have unstable offsets which are not cleared on the broker side: [t-0]
cleaner emptied | crc- | kafka: response did not contain all the expected topic/partition blocks
no sign of damage | torn- | the kafka reader got an unknown error reading partition 0 of t at offset 5: unexpected EOF
log is sound | bad-magic | java.lang.IllegalArgumentException: Magic v1 does not support record headers
offsets.retention.minutes | replica- | t [0]: offset reset (at offset INVALID) to END: no previously committed offset available
not stopped cleanly | TLS | Memory cgroup out of memory: Killed process 1234 (java) total-vm:8123456kB
file system is damaged | torn- | kernel: XFS (sdb1): Corruption detected. Unmount and run xfs_repair
a bug of 2.3 | crc- | Illegal request for non-active segments beginning at offset 100
first start of a new disk | a line | Failed to read meta.properties file under dir /d due to /d (No such file or directory)
KAFKA-7698 | the accompanying | error in one of the threads during logs loading: a.b.ProducerFencedException: Epoch 9
permission-denied | epochs- | KafkaStorageException: Failed to change the log file suffix from  to .deleted for log segment 0
network volume | repair | kernel: nfs: server 10.0.0.1 not responding, timed out
file system is damaged | failing disk | XFS (sdb1): Metadata CRC error detected at xfs_agf_read_verify+0x74/0xf0 [xfs]
compacted a log | error  | Log cleaner thread 0 cleaned log t-0 (dirty section = [23772, 24043])
renamed while the cleaner | disk failed | Failed to clean up log for t-30 in dir /k due to IOException
retention.ms | crc- | DebeziumException: The db history topic or its content is fully or partially missing.
or schemas | key-missing | IllegalStateException: The retention policy of the schema topic _schemas is incorrect
records expired | sequence- | aiokafka.errors.UnknownProducerId: [Error 59] UnknownProducerId
read again | crc- | [Consumer] Crash: KafkaJSNonRetriableError: Specified group generation id is not valid
consumer of librdkafka | batch- | Broker: Message size too large
""")


@each("right, wrong, line", POSTED, ids=[line[:40] for _, _, line in POSTED])
def test_a_posted_line_gets_its_answer_and_no_other(capfd: pytest.CaptureFixture[str], right: str, wrong: str, line: str) -> None:
    for text in (line, f"[2026-11-22 10:00:00,123] ERROR {line} (kafka.log.LogManager)", f"Caused by: {line}"):
        status, out, _ = _run(capfd, text)
        answer = " ".join(out.partition("How it comes about")[0].split())
        assert (status, right in answer, wrong in answer) == (FOUND, True, False), out


@each("name", SILENT)
def test_a_class_that_says_nothing_explains_no_line(capfd: pytest.CaptureFixture[str], name: str) -> None:
    for text in (f"java.lang.{name}: the frobnicator of /data/t-0 is out of cheese", f"ERROR {name}: [x]"):
        status, out, _ = _run(capfd, text)
        assert (status, out) == (UNKNOWN, "kdump does not know this line.\n")
    status, out, _ = _run(capfd, f"org.apache.kafka.common.{name}")
    assert (status, out) == (UNKNOWN, f"{name} means nothing by itself: give the message that follows it, too.\n")


@each(
    "name, meaning",
    [
        ("CorruptRecordException", "a batch cannot be read: "),
        ("InvalidRecordException", "a record or batch contradicts itself"),
        ("KafkaStorageException", "a file could not be read or written"),
        ("NumberFormatException", "something that should be a number is none"),
        ("NotControllerException", "a request reached a controller that is not the active one"),
    ],
)
def test_an_unknown_message_of_a_known_class_is_unknown(capfd: pytest.CaptureFixture[str], name: str, meaning: str) -> None:
    status, out, _ = _run(capfd, f"ERROR org.apache.kafka.common.errors.{name}: out of cheese")
    assert status == UNKNOWN and out.startswith(f"kdump does not know this line.\n\n{name}: {meaning}")


@each(
    "line, words",
    [
        ("ERROR Replaying record x", []),  # the level of a line is no part of its message
        ("ERROR Error replaying record x", ['"Error replaying record"']),
        (  # a divided line beside a wrapper
            "ERROR Exiting Kafka due to fatal exception\nThe log dir /d/t-0 does not have a topic\nID, which",
            ['"does not have a topic ID"'],
        ),
    ],
)
def test_a_line_is_known_by_its_words(line: str, words: list[str]) -> None:
    assert [one.words for one in matching.explain(line).answers] == words


def test_a_line_may_be_divided_and_needs_no_quotes_and_steers_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    assert "index-orphan" in _run(capfd, "WARN Found an orphaned index\n   file /x/0.index, with no log")[1]
    assert "index-orphan" in _run(capfd, "Found", "an", "orphaned", "index", "file", "/x/0.index,")[1]
    out = _run(capfd, "Found record size \x1b[31m smaller than minimum record overhead (14)")[1]
    assert "\x1b" not in out and "\\x1b[31m" in out


def test_a_line_is_explained_without_the_rules_of_checks() -> None:
    script = "import sys; from kdump.cli.commands import main; main(['explain', 'Found an orphaned index file x']); "
    script += "sys.exit('kdump.checks.rules' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


TRACE = """\
[2026-11-22 10:00:00,123] ERROR Error while loading log dir /data (kafka.log.LogManager)
org.apache.kafka.common.KafkaException: something that nobody knows
\tat kafka.log.LogManager.loadLogs(LogManager.scala:3)
Caused by: java.lang.IllegalArgumentException: Unknown compression type id: 5
\tat org.apache.kafka.common.record.CompressionType.forId(CompressionType.java:1)
\t... 12 more
"""


def test_a_stack_trace_is_answered_by_its_most_specific_line(capfd: pytest.CaptureFixture[str]) -> None:
    syslog = "".join(f"Apr 10 07:23:12 host kafka[13]: {line}\n".replace("\t", "#011") for line in TRACE.splitlines())
    compose = "".join(f"kafka-1  | {line}\n" for line in TRACE.splitlines())
    for text in (TRACE, " ".join(TRACE.split()), syslog, compose):
        status, out, _ = _run(capfd, text)
        assert status == FOUND
        assert out.startswith('"Unknown compression type id": ') and "Error while loading" not in out
    status, out, _ = _run(capfd, TRACE.replace("Unknown compression type id: 5", "out of cheese"))
    assert status == FOUND and out.startswith('"Error while loading log dir": ')


def test_each_event_is_answered_once(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = tmp_path / "server.log"
    lines.write_text(f"{TRACE * 3}[2026-11-22 10:00:01,000] WARN out of cheese\nINFO all is well\n")
    with lines.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        status, out, _ = _run(capfd, "-")
        assert status == FOUND
        assert out.startswith("kdump does not know 1 of these lines.\n\n") and out.count('"Unknown compression type id"') == 1
        status, out, err = _run(capfd, "-")  # nothing is left in it
    assert (status, out) == (USAGE, "") and "stdin is empty" in err


@pytest.mark.parametrize("value", ["7", "/data/t-0/00000000000000000010.log"])
def test_each_known_message_of_kafka_gets_the_answer_that_was_decided(value: str) -> None:
    known = kafka_messages.decided()
    assert len(known) > 450
    for shape, answer in known.items():
        line = kafka_messages.filled(shape, value)
        if value == "7" or not re.search(r"\d", matching.explain(kafka_messages.filled(shape)).answers[0].words):
            assert kafka_messages.expectation(matching.explain(f"WARN {line}")) == answer, shape


@each(
    ("word", "meant"),
    [
        *(("torn", "did you mean torn-tail, torn-header?"), ("CorruptRecordExcepton", "did you mean CorruptRecordException")),
        ("java.lang.IllegalStateExeption", "did you mean IllegalStateException"),
        *((word, "`kdump explain` lists all") for word in ("clock went back", "Failed to load", "FooBarException")),
        *(("crc-mismtach", "did you mean crc-mismatch"), ("checksum batch", "crc-mismatch?")),
    ],
)
def test_unknown_words_get_suggestions(capfd: pytest.CaptureFixture[str], word: str, meant: str) -> None:
    status, out, err = _run(capfd, word)
    assert (status, out) == (USAGE, "") and meant in err


def test_a_file_of_lines_is_no_line(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("[2026-11-21 10:00:00,000] INFO started (kafka.server.KafkaServer)\n")
    assert main(["explain", str(path)]) == 2
    assert f"tail -n 50 {path} | kdump explain -" in capfd.readouterr().err


def test_codes_of_searches_and_decoders_are_explained(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _run(capfd, "schema-id-unknown")
    assert status == FOUND
    assert out.startswith("schema-id-unknown: no schema has the id that a key or value names.\n")
    status, out, _ = _run(capfd, "codec-missing")
    assert out.startswith("codec-missing is what searches and listings say for codec-package-missing.\n\ncodec-package-missing (")
    status, out, _ = _run(capfd, "compressed-record-length-past-end")
    assert "record-length-bad (error): a record has an impossible length." in out
    _, out, _ = _run(capfd)
    assert re.search(r"^ +decoder-failed +a decoder of your own", out, re.MULTILINE)


def test_the_codes_of_searches_are_no_faults_and_lead_to_some() -> None:
    assert not searches.SEARCHES.keys() & catalogue.FAULTS.keys()
    assert set(searches.SAME_AS.values()) <= catalogue.FAULTS.keys()
    for one in searches.SEARCHES.values():
        assert set(one.see) <= catalogue.FAULTS.keys() | searches.SEARCHES.keys()


def test_whatever_a_search_says_of_damaged_files_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    found = set()
    for path in sorted(CASES.iterdir()):
        search = kdump.grep("no such text", path, where=["a=b"])
        assert not list(search)
        found |= {gap.code for gap in search.not_read}
    assert len(found) > 15
    for code in sorted(found):
        assert _run(capfd, code)[0] == FOUND, code
