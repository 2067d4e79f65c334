"""Runs a real broker on loopback (KRaft, one process), and real producers and consumers against it.

Both end when the process that started them does, whatever ends that: see LiveBroker.java and KafkaClients.java.
"""

import base64
import contextlib
import os
import random
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.oracle import kafka_tool
from tests.oracle.jvm import Jvm, NoAnswer
from tests.oracle.restarts import LOGGING

BROKER_SOURCE = Path(__file__).with_name("live") / "LiveBroker.java"
CLIENTS_SOURCE = BROKER_SOURCE.with_name("KafkaClients.java")
RELEASES = ("4.3.1", "3.9.1")
"""Tried with these; releases before 3.9 need ZooKeeper, or format their directories in another way."""

JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true")
SECONDS_TO_START = 120
SECONDS_TO_ANSWER = 240
STARTED = "Kafka Server started"

SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    # A node that was killed comes back at once.
    "controller.quorum.election.timeout.ms": "200",
    "controller.quorum.fetch.timeout.ms": "400",
    "broker.heartbeat.interval.ms": "100",
    "broker.session.timeout.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "4194304",
    # What the log manager does now and then, it does all the time.
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "300",
    "log.cleaner.backoff.ms": "200",
    "log.segment.delete.delay.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "700",
    "log.flush.start.offset.checkpoint.interval.ms": "700",
    "replica.high.watermark.checkpoint.interval.ms": "500",
}
_LOG_SETTINGS = """\
handlers=java.util.logging.ConsoleHandler
java.util.logging.ConsoleHandler.formatter=java.util.logging.SimpleFormatter
java.util.logging.SimpleFormatter.format=%1$tT.%1$tL %4$s %3$s %5$s%6$s%n
.level=INFO
org.apache.kafka.common.config.level=WARNING
kafka.server.KafkaConfig.level=WARNING
"""


def why_not_available(release: str = RELEASES[0]) -> str | None:
    """What is missing to run a broker of this release; None if nothing is."""
    return kafka_tool.why_not_available(release) or kafka_tool.why_not(lambda: _class_path(release))


def _class_path(release: str) -> str:
    """Kafka's classes and those of the broker and the clients here, which are compiled once."""
    fetched = kafka_tool.fetch(release, LOGGING)
    own = [str(kafka_tool.compiled(source, fetched)) for source in (BROKER_SOURCE, CLIENTS_SOURCE)]
    return os.pathsep.join([*own, fetched])


def _java(release: str, megabytes: int, *options: str) -> list[str]:
    return ["java", f"-Xmx{megabytes}m", *JVM_OPTIONS, *options, "-cp", _class_path(release)]


class Broker(contextlib.AbstractContextManager["Broker"]):
    """A broker with its log directory in `folder`. It is killed at the end of the block, if it still runs."""

    def __init__(self, folder: Path, release: str = RELEASES[0], settings: Mapping[str, str] | None = None) -> None:
        self.data = folder.resolve() / "data"
        self.release = release
        ports = _free_ports(2)
        self.address = f"127.0.0.1:{ports[0]}"
        self.folder = folder.resolve()
        self._process: subprocess.Popen[bytes] | None = None
        self._log = self.folder / "broker.log"
        listeners = f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{ports[1]}"
        own = {
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.quorum.voters": f"1@127.0.0.1:{ports[1]}",
            "log.dirs": str(self.data),
        }
        self._write("server.properties", {**SETTINGS, **own, **(settings or {})})
        (self.folder / "logging.properties").write_text(_LOG_SETTINGS)

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def _write(self, name: str, settings: Mapping[str, str]) -> None:
        (self.folder / name).write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def start(self) -> None:
        """Start, and wait until it serves. Raises OracleError if it ends instead."""
        cluster_id = [] if self.data.exists() else [base64.urlsafe_b64encode(bytes(range(16))).decode().rstrip("=")]
        option = f"-Djava.util.logging.config.file={self.folder / 'logging.properties'}"
        command = [*_java(self.release, 512, option), BROKER_SOURCE.stem, str(self.folder / "server.properties"), *cluster_id]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, env=kafka_tool.environment(), stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        end = time.monotonic() + SECONDS_TO_START
        while STARTED not in self.log():
            if self._process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise kafka_tool.OracleError(f"the broker does not start: {self.log()[-3000:]}")
            time.sleep(0.05)

    def log(self) -> str:
        """What it has logged since its last start."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def kill(self) -> None:
        """End at once, as kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None  # opened as a pipe
            self._process.stdin.close()
            self._process = None


class ClientRecord(NamedTuple):
    """A record as a consumer gets it; key and value are hexadecimal after an x, or a dash for null."""

    offset: int
    timestamp: int
    timestamp_type: str
    key: str
    value: str
    headers: str

    @property
    def key_bytes(self) -> bytes | None:
        return _bytes(self.key)

    @property
    def value_bytes(self) -> bytes | None:
        return _bytes(self.value)

    @property
    def header_pairs(self) -> list[tuple[str, bytes | None]]:
        pairs = [pair.rpartition("=") for pair in self.headers.split(",")] if self.headers != "-" else []
        return [(name, _bytes(value)) for name, _, value in pairs]


class Reading(NamedTuple):
    """What a consumer got of one partition, in its order, with the first and the next offset that the broker told.

    `position` is the offset that the consumer asks for next.
    """

    records: list[ClientRecord]
    first: int = -1
    next: int = -1
    position: int = -1


Partitions = Mapping[str, int]
"""Topics, and how many partitions each has."""


class Clients(contextlib.AbstractContextManager["Clients"]):
    """Producers and consumers of one broker, in one JVM."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self._folder = folder
        self._errors = (folder / "clients.log").open("wb")
        option = f"-Djava.util.logging.config.file={folder / 'clients.properties'}"
        (folder / "clients.properties").write_text(_LOG_SETTINGS.replace(".level=INFO", ".level=SEVERE"))
        command = [*_java(broker.release, 256, option), CLIENTS_SOURCE.stem, broker.address]
        self._jvm = Jvm(command, kafka_tool.environment(), errors=self._errors)

    def __exit__(self, *exception: object) -> None:
        self._jvm.kill()
        self._errors.close()

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> str:
        """Create a topic; return its id."""
        return self.ask("create", topic, partitions, *(f"{key}={value}" for key, value in settings.items()))

    def start(self, topics: Partitions, pause: int, seed: int) -> None:
        """Let several producers take random steps until `stop`, with a pause after each of as many ms on average."""
        self.ask("start", seed, pause, *_words(topics))

    def stop(self) -> str:
        return self.ask("stop")

    def follow(self, topics: Partitions) -> None:
        """Let a consumer read all that comes until `unfollow`."""
        self.ask("follow", self._folder / "followed", *_words(topics))

    def unfollow(self) -> dict[str, Reading]:
        """What the consumer got up to now, by the directory of the partition."""
        self.ask("unfollow")
        return readings((self._folder / "followed").read_text().splitlines())

    def read(self, topics: Partitions, isolation: str) -> dict[str, Reading]:
        """What a new consumer gets from the start to the end, by the directory of the partition."""
        self.ask("read", self._folder / "read", isolation, *_words(topics))
        return readings((self._folder / "read").read_text().splitlines())

    def ask(self, *words: object) -> str:
        """Send a request, and return the answer. Raises OracleError if it fails."""
        request = " ".join(map(str, words))
        try:
            self._jvm.send(request.encode() + b"\n")
            line = self._jvm.read_line(SECONDS_TO_ANSWER)
        except NoAnswer as error:
            raise kafka_tool.OracleError(f"the clients: {error}: {request}") from error
        if line.startswith("failed"):
            raise kafka_tool.OracleError(f"{request}: {line}")
        return line


def readings(lines: Iterable[str]) -> dict[str, Reading]:
    """Lines of a file of KafkaClients.java, by the directory of the partition."""
    found: dict[str, Reading] = {}
    for line in lines:
        words = line.split(" ")
        if words[0] == "=":
            name = f"{words[1]}-{words[2]}"
            found[name] = found.get(name, Reading([]))._replace(first=int(words[3]), next=int(words[4]), position=int(words[5]))
        else:
            name = f"{words[0]}-{words[1]}"
            record = ClientRecord(int(words[2]), int(words[3]), *words[4:])
            found.setdefault(name, Reading([])).records.append(record)
    return found


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else bytes.fromhex(text[1:])


def _words(topics: Partitions) -> list[str]:
    return [f"{topic}:{count}" for topic, count in topics.items()]


def _free_ports(count: int) -> Sequence[int]:
    """Ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def running(
    folder: Path, release: str = RELEASES[0], settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Broker, Clients]]:
    """A broker that has started, and clients of it."""
    with Broker(folder, release, settings) as broker:
        broker.start()
        with Clients(broker, folder) as clients:
            yield broker, clients


def segment_size_setting(release: str) -> str:
    """The setting of a topic for segments that are smaller than 1 MiB, which 4.1 and later keep for tests."""
    return "internal.segment.bytes" if kafka_tool.release_number(release) >= (4, 1) else "segment.bytes"


def any_wait(chance: random.Random, longest: float) -> float:
    """Seconds up to `longest`, often few."""
    return longest * chance.random() ** 2
