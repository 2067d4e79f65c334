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


# Faults, and the lines of brokers of 2.8.2, 3.9.1 and 4.3.1, and of consumers, that were seen at them.
LINES = _table("""
zero-tail | Found record size 0 smaller than minimum record overhead (14) in file /data/a-0/00000000000000000000.log.
crc-mismatch | WARN [Log partition=a-0] Corruption found in segment 100, truncating to offset 155 (kafka.log.Log)
crc-mismatch | Found invalid messages in log segment /data/a-0/00000000000000000000.log at byte offset 4182.
crc-mismatch | Record is corrupt (stored crc = 1234, computed crc = 5678). null
batch-length-too-small | Record batch is corrupt (the size 14 is smaller than the minimum allowed overhead 61)
offset-below-base | requirement failed: Split operation is only permitted for segments with overflow
offset-overflow-int32 | Caught segment overflow error: Detected offset overflow at offset 7 in segment LogSegment(baseOffset=0)
txnindex-version-unknown | Unexpected aborted transaction version 512 in transaction index /data/0.txnindex, current version is 0
codec-unknown | java.lang.IllegalArgumentException: Unknown compression type id: 5
epochs-not-monotonic | Received invalid partition leader epoch entry EpochEntry(epoch=-1, startOffset=3)
offset-regression | Found invalid offset during recovery. Deleting the corrupt segment and creating an empty one with starting
    offset 0
log-start-beyond-end | Deleting all segments because logEndOffset (7) is smaller than logStartOffset 9.
index-missing | Could not find offset index file corresponding to log file /data/a-0/00000000000000000000.log, recovering
index-orphan | Found an orphaned index file /data/a-0/00000000000000000000.index, with no corresponding log file.
control-type-unknown | Invalid control record type for end transaction markerUNKNOWN
control-value-short | Invalid value size found for end transaction marker. Must have at least 6 bytes, but found only 2
control-key-short | Invalid value size found for control record key. Must have at least 4 bytes, but found only 2
control-version-negative | Invalid version found for control record: -1. May indicate data corruption
txn-nontransactional-write | Expected transactional write from producer 7 at offset (offset=3, segment=[0:9]) in partition a-0
snapshot-crc-mismatch | Failed to load producer snapshot from '/a': Snapshot is corrupt (CRC is no longer valid). Stored crc: 1
epochs-malformed | Malformed line in checkpoint file (/data/a-0/leader-epoch-checkpoint): 'zero'
epochs-count-mismatch | Expected [3] entries in checkpoint file [/data/a-0/leader-epoch-checkpoint], but found only [2]
epochs-count-mismatch | Expected 3 entries in checkpoint file (/data/a-0/leader-epoch-checkpoint), but found only 2
epochs-version-unknown | Unrecognized version of the checkpoint file (/data/a-0/leader-epoch-checkpoint): 1
partition-metadata-bad | Invalid topic ID in partition metadata file (/data/a-0/partition.metadata)
legacy-nested-compression | Inner messages must not be compressed
frame-damaged | java.util.zip.ZipException: Corrupt GZIP trailer
name-not-numeric | java.lang.NumberFormatException: For input string: "foo"
record-length-bad | Received exception when fetching the next record from a-0. If needed, please seek past the record
crc-mismatch | Encountered corrupt message when fetching offset 5 for topic-partition a-0
crc-mismatch | Found invalid messages during fetch for partition a-0 offset 5
crc-mismatch | Unexpected exception thrown when cleaning log x. Marking its partition (a-0) as uncleanable
""")


def _run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["explain", *words])
    captured = capfd.readouterr()
    return status, captured.out, captured.err


@each("code, line", LINES, ids=[line[:40] for _, line in LINES])
def test_a_line_of_a_broker_leads_to_its_fault(capfd: pytest.CaptureFixture[str], code: str, line: str) -> None:
    for text in (line, f"[2026-11-22 10:00:00,123] ERROR {line} (org.apache.kafka.storage.internals.log.LogLoader)"):
        status, out, _ = _run(capfd, text)
        assert status == FOUND
        assert re.search(rf"^(  \w+ +)?{code}\b", out, re.MULTILINE)


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


def test_what_a_start_does_is_said_where_it_depends(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = _run(capfd, "dir-odd")
    assert "nothing, if its name is one of Kafka's; with any other name no broker starts" in " ".join(out.split())


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


def test_a_line_that_has_one_cause_is_explained_in_full(capfd: pytest.CaptureFixture[str]) -> None:
    out = _run(capfd, "Record is corrupt (stored crc = 1, computed crc = 2)")[1]
    assert "\nHow it comes about " in out and "\nWhat to do " in out
    out = _run(capfd, "CorruptRecordException: Record is corrupt (stored crc = 1, computed crc = 2)")[1]  # which is less exact
    assert "CorruptRecordException: a batch" not in out and out.count("crc-mismatch (error)") == 1


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
index-entry-below-base | codec-unknown | requirement failed: Corrupt index found, index file
    (/k/t-1/00000000000000006911940.index) has non-zero size but the last offset is 6911940 and the base offset is 6911940
index-size-misaligned | timeindex | Index file /k/t-0/00000000000000000010.index is corrupt, found 13 bytes which is neither
    positive nor a multiple of 8
timeindex-timestamp-order | snapshot-gap | Attempt to append a timestamp (1) to slot 5 no larger than the last timestamp appended
    (9) to /k/10.timeindex
txnindex-order | codec-unknown | The last offset of appended transactions must increase sequentially, but 5 is not greater than
    current last offset 9
cannot replay | snapshot-gap | Tried to change broker 3, but the given epoch, 9915562, did not match the current broker epoch,
    9914910
another broker process uses this directory | frame- | KafkaException: Failed to acquire lock on file .lock in /data. A Kafka
    instance in another process is using it.
same partition | snapshot-gap | IllegalStateException: Duplicate log directories found: /data1/t-0, /data2/t-0!
partition-metadata-bad | crc-mismatch | The log dir Log(dir=/k/x-0) does not have a topic ID, which is not allowed when running in
    KRaft mode.
another cluster | error | java.lang.RuntimeException: Invalid cluster.id in: /data/meta.properties. Expected AAA, but read BBB
another broker | error  | Stored node id 2 doesn't match previous node id 3 in /data/meta.properties
do not format | crc-mismatch | java.lang.RuntimeException: No readable meta.properties files found.
an earlier one does | crc- | Shutdown broker because all log dirs in /data1, /data2 have failed (kafka.log.LogManager)
the disk | crc-mismatch | java.io.IOException: No space left on device
io-error | crc-mismatch | java.io.IOException: Input/output error
vm.max_map_count | frame- | java.io.IOException: Map failed
ulimit | file-vanished | java.nio.file.FileSystemException: /data/t-0/00000000000000000010.log: Too many open files
dir-odd | frame- | Found directory /data/lost+found, 'lost+found' is not in the form of topic-partition or ...
replica-divergence | torn-tail | Exiting because log truncation is not allowed for partition t-0, current leader's latest offset
    2051 is less than 2391
cannot replay | the node stops | Encountered fatal fault: Error loading metadata log record from offset 5
a log is cut | frame- | [Log partition=t-0, dir=/d] Truncating to offset 5
replica-divergence | torn-tail | Triggering unclean leader election for offline partition t-0.
This is normal | error | Deleting segment LogSegment(baseOffset=0, size=9) due to log retention time 604800000ms breach based on
    the largest
lost the end | sequence-gap | [RaftManager id=1] Detected non-monotonic update of fetch offset from nodeId 3: 99 -> 5
marker-without-txn | codec-unknown | java.lang.IllegalArgumentException: Attempted to complete transaction
    CompletedTxn(producerId=1) on partition t-0 which was not started
None is lost yet | replica-divergence | Unclean leader election has been enabled by default
normal | replica-divergence | Unexpected offset in append to t-0. First offset 3 is less than log start offset 5. Since this is
    the first record to be appended to the x's log, will start the log from offset 3
asks again | cannot replay | [Partition t-0 broker=2] Failed to update ISR to PendingExpandIsr(newInSyncReplicaId=1) due to
    unexpected UNKNOWN_SERVER_ERROR. Retrying.
closed in the normal way | torn-tail | Timed out waiting for the controller to approve controlled shutdown
normal after an election | error  | Broker 2 sent a heartbeat request but received error NOT_CONTROLLER.
same node.id | replica-divergence | IllegalStateException: Received request or response with leader OptionalInt[3] and epoch 17
    which is inconsistent with current leader OptionalInt[1] and epoch 17
filled from its leader | partition-meta | Expected partition t-0 with topic id X to exist, but it was missing. Creating...
crc-mismatch | cannot replay | Failed to load metadata from __consumer_offsets-12 with epoch 4 due to x
the request fails | cannot replay | Replaying record CoordinatorRecord(key=x) to __consumer_offsets-3 failed due to: x
did not write it | older Kafka | AddPartitionsToTxnRequest failed for node 2 with a network exception.
older Kafka | did not write it | AddPartitionsToTxnRequest failed for node 2 with invalid version exception. This suggests
    verification is not supported. Continuing handling the produce request.
not replicated | cleaner | [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Error due to
local segments are kept | snapshot- | NullPointerException: Cannot invoke "java.io.File.toPath()" because
    "producerStateSnapshotFile" is null
was replaced while it wrote | could not be applied | [Controller 3] maybeFenceReplicas: failed with unknown server exception
    NotLeaderException at epoch 2641: Append failed because the replication is not the current leader
another directory.id | error  | [RaftManager id=0] Candidate sent a voter key (x) in the VOTE request that doesn't match the local
    key (y)
has no batches | checkpoint- | Log doesn't have a last fetch epoch and there is a snapshot (OffsetAndEpoch(offset=9)).
If they were committed | torn-tail | Reset fetch offset for partition t-0 from 9 to current leader's latest offset 5
log.cleaner.dedupe.buffer.size | crc-mismatch | requirement failed: 5243 messages in segment a-0/5.log but offset map can fit only
    4999. You can increase x
session of the broker's last run | error  | Error while creating ephemeral at /brokers/ids/1, node already exists and owner '72'
    does not match current session '7'
txn-hanging | codec-unknown | IllegalStateException: TransactionalId pay failed transition to state
    TxnTransitMetadata(producerId=1) due to x
built again from the topic | io-error | ProcessorStateException: Error opening store counts at location
    /tmp/kafka-streams/app/0_0/rocksdb
exactly-once | crc-mismatch | TaskCorruptedException: Tasks [{0_1=[app-counts-changelog-1]}] are corrupted and hence need to be
    re-initialized
another serializer | frame- | DataException: Converting byte[] to Kafka Connect data failed due to serialization error:
not compacted | key-missing | ConfigException: Topic 'c-offsets' supplied via the 'offset.storage.topic' property is required to
    have 'cleanup.policy=compact' to guarantee consistency
crc-mismatch | frame- | kafka server: Message contents does not match its CRC.
crc-mismatch | record-length-bad | kafka: error decoding packet: CRC didn't match expected 0x1 got 0x2
update the client | record-length-bad | kafka: error decoding packet: CRC didn't match expected 0x0 got 0xe38a6876
crc-mismatch | legacy-inner-crc | Error in thread kafka.message.InvalidMessageException: Message is corrupt (stored crc = 0,
    computed crc = 1)
log is sound | bad-magic | SerializationException: Unknown magic byte!
Windows | io-error | FileSystemException: D:\\k\\5.log: The process cannot access the file because it is being used by another
    process.
nothing is cut | torn-tail | Truncating to 5 has no effect as the largest offset in the log is 4
crc-mismatch | replica-divergence | Corruption found in segment 4182, truncating to offset 4711
bad-magic | record-length-bad | kafka: error decoding packet: unknown magic byte (7)
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
crc-mismatch | zero-hole | KafkaException: Record batch for partition t-0 at offset 5 is invalid, cause: Record is corrupt (stored
    crc = 1, computed crc = 2)
cleaners of /tmp | torn-tail | java.nio.file.NoSuchFileException: /tmp/k/t-0/5.timeindex -> /tmp/k/t-0/5.timeindex.deleted
another broker process uses this directory | io-error | java.nio.channels.OverlappingFileLockException
io-error | torn-tail | kernel: blk_update_request: I/O error, dev sdb, sector 12345 op 0x0:(READ)
file-shrank | codec-unknown | java.io.EOFException: Failed to read `log header` from file channel `sun.nio.ch.FileChannelImpl@5`.
    Expected to read 17 bytes, but reached end of file after reading 0 bytes. Started read from position 194840.
replica-divergence | torn-tail | UNCLEAN partition change for t-0 with topic ID Kx: isr: [1] -> [2], leader: -1 -> 2
This is normal | error | Incremented log start offset to 100 due to client delete records request
records expired | sequence-gap | Found no record of producerId=4000 on the broker. It is possible that the last message with the
    producerId=4000 has been removed due to hitting the retention limit.
was not written | crc-mismatch | kafka server: Message was too large, server rejected it to avoid allocation error
""")


@each("right, wrong, line", POSTED, ids=[line[:40] for _, _, line in POSTED])
def test_a_posted_line_gets_its_answer_and_no_other(capfd: pytest.CaptureFixture[str], right: str, wrong: str, line: str) -> None:
    for text in (line, f"[2026-11-22 10:00:00,123] ERROR {line} (kafka.log.LogManager)", f"Caused by: {line}"):
        status, out, _ = _run(capfd, text)
        answer = " ".join(out.partition("How it comes about")[0].split())
        assert (status, right in answer, wrong in answer) == (FOUND, True, False), out


# What people type of a line.
FRAGMENTS = [
    *(("Invalid cluster.id", "another cluster"), ("InconsistentClusterId", "another cluster")),
    *(("InconsistentBrokerId", "another broker"), ("all log dirs have failed", "an earlier one does")),
    *(("Stopping serving logs", "taken offline"), ("No space left", "full"), ("Input/output error", "dmesg")),
    *(("Too many open files", "LimitNOFILE"), ("Map failed", "vm.max_map_count")),
    *(("lock on file .lock", "another broker process"), ("Found stray log dir", "-stray")),
    *(("unclean leader election", "copy the log directories"), ("Loading producer state", "normal")),
    *(("Found index file corruption", "rebuilt from the log"), ("Corrupt snapshot", "no record is lost")),
    *(("Metadata publishing error", "exception says why"), ("Encountered fatal fault", "the node stops")),
    *(("does not have a topic ID", "partition.metadata"), ("OutOfOrderSequence", "not consecutive")),
    *(("InvalidProducerEpoch", "fenced"), ("OFFSET_OUT_OF_RANGE", "retention")),
    *(("KAFKA_STORAGE_ERROR", "offline"), ("UNKNOWN_TOPIC_ID", "created again")),
]


@each("text, words", FRAGMENTS)
def test_a_few_words_of_a_line_are_enough(capfd: pytest.CaptureFixture[str], text: str, words: str) -> None:
    status, out, _ = _run(capfd, text)
    assert status == FOUND and words in " ".join(out.split())


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


def test_a_line_of_a_log_is_never_called_a_fault(capfd: pytest.CaptureFixture[str]) -> None:
    texts = ("WARN The frobnicator is out of cheese", "the broker does not like me any more today", "Local: Out of cheese")
    for text in (*texts, "[2026-11-22 10:00:00,123] INFO [Broker id=1] all is well"):
        assert _run(capfd, text) == (UNKNOWN, "kdump does not know this line.\n", "")


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
