"""Extracts the messages of Kafka's infos, warnings, errors and exceptions from the source jars of a release.

`python -m tests.oracle.kafka_messages 3.9.1 4.3.1` prints them: release, class, what says it, and the shape of the message, in
which `{}` stands for each value. Needs Maven, which fetches the jars.
"""

import functools
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.oracle.kafka_tool import fetch_sources

MODULES = {
    "kafka_2.13": "2.8.2",
    "kafka-clients": "2.8.2",
    "kafka-coordinator-common": "4.0.0",
    "kafka-group-coordinator": "3.9.1",
    "kafka-metadata": "2.8.2",
    "kafka-raft": "2.8.2",
    "kafka-server": "3.9.1",
    "kafka-server-common": "3.9.1",
    "kafka-storage": "3.9.1",
    "kafka-transaction-coordinator": "3.9.1",
}
"""The modules, and the first of the releases read here that has each."""
PARTS = re.compile(
    r"/(?:storage|log|raft|snapshot|cluster|image|loader|publisher|common/record|common/compress|compress|checkpoint)/"
    r"|/coordinator/(?:common|group|transaction)/(?!.*(?:assignor|modern|share|streams|metrics))"
    r"|/(?:server|metadata|controller|timeline|queue|fault)/(?!.*(?:quota|share|metrics))"
    r"|/kafka/Kafka\.scala|clients/consumer/internals/(?:\w*Fetch\w*|OffsetFetcher\w*|ConsumerRecords?)\."
)
"""The packages that store, load, replicate, coordinate and read logs."""
OTHERS = re.compile(
    r"/(?:common/message|common/metadata|generated|zk|migration|tools|share)/|(?:JsonConverter|Builder|Configs?)\.(?:java|scala)$|Zk|Migration"
)
"""Files that contain no messages about logs: those that Kafka's build generates, configurations, ZooKeeper's."""
_SAYS = re.compile(
    r"(?:\b(?:log|logger|LOG|LOGGER|logging|stateChangeLogger|Log)\.(?P<level>info|warn|error)"
    r"|(?<![\w.])(?P<scala>info|warn|error|fatal)"
    r"|\bnew (?P<exception>[A-Z]\w*(?:Exception|Error|Fault))"
    r"|\b\w*[fF]ault\w*\.(?P<fault>handleFault)"
    r"|(?<![\w.])(?P<require>require)"
    r"|\b(?P<offline>maybeAddOfflineLogDir|maybeHandleIOException|executeAndHandleIOException))\("
)
_LITERAL = re.compile(
    r'(?P<s>\b[sf])?(?:"""(?P<raw>.*?)"""|"(?P<text>(?:\$\{[^{}"]*(?:"[^"]*"[^{}"]*)*\}|\\.|[^"\\])*)")', re.DOTALL
)
_VALUE = re.compile(r"\$\{[^}]*\}|\$\w+(?:\.\w+)*|%(?:\d+\$)?[-\d.]*[sdxXf]|\{\}")
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LEAST_WORDS = 2


class Message(NamedTuple):
    """A message: the class that says it, how (INFO, WARN, ERROR, or the class of an exception), and its shape."""

    source: str
    how: str
    shape: str


@functools.cache
def messages_of(release: str) -> tuple[Message, ...]:
    """The messages of a release, without duplicates. Raises OracleError if its source jars cannot be fetched."""
    found: dict[Message, None] = {}
    for jar in fetch_sources(release, (module for module, since in MODULES.items() if since <= release)):
        with zipfile.ZipFile(jar) as sources:
            for name in sources.namelist():
                if name.endswith((".java", ".scala")) and PARTS.search(f"/{name}") and not OTHERS.search(name):
                    text = sources.read(name).decode()
                    found.update(dict.fromkeys(messages_in(Path(name).stem, text)))
    return tuple(found)


def messages_in(source: str, text: str) -> Iterator[Message]:
    """The messages in a Java or Scala file."""
    text = _COMMENT.sub(lambda one: one[0] if one[0].startswith('"') else " ", text)
    for call in _SAYS.finditer(text):
        skips = range(3) if call["offline"] else [1] if call["require"] else [0]
        shape = next(filter(None, (_shape(_argument(text, call.end(), skip)) for skip in skips)), "")
        if len(re.findall(r"[A-Za-z]{2,}", shape)) >= _LEAST_WORDS:
            how = call["exception"] or (call["level"] or call["scala"] or "").upper()
            if call["offline"] or call["fault"]:
                how = "ERROR"
            yield Message(source, how or "IllegalArgumentException", shape)


def _argument(text: str, start: int, skips: int) -> str:
    """The source of an argument of a call whose parentheses open before `start`; `skips` is how many are before it."""
    depth, position, begin = 0, start, start
    while position < len(text):
        literal = _LITERAL.match(text, position)
        if literal:
            position = literal.end()
            continue
        one = text[position]
        if one in "([{":
            depth += 1
        elif one in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and one == "," and not skips):
            break
        if depth == 0 and one == ",":
            skips, begin = skips - 1, position + 1
        position += 1
    return text[begin:position] if not skips else ""


def _shape(argument: str) -> str:
    """The text of a string expression, with `{}` for each value in it."""
    parts: list[str] = []
    position = 0
    for literal in _LITERAL.finditer(argument):
        between = argument[position : literal.start()]
        if re.search(r"[\w)]", re.sub(r"String\.format\(|\bformat\(|\.stripMargin", "", between)):
            parts.append("{}")
        text = literal["raw"] if literal["raw"] is not None else literal["text"]
        parts.append(_VALUE.sub("{}", re.sub(r"\\(.)", lambda one: {"n": " ", "t": " "}.get(one[1], one[1]), text)))
        position = literal.end()
    rest = argument[position:]
    if parts and not re.match(r"\s*(?:\.format|\.stripMargin|\.formatted|,|\)*\s*$)", rest) and "+" in rest:
        parts.append("{}")
    return re.sub(r"(?:\{\}\s*){2,}", "{} ", " ".join("".join(parts).split())).strip()


if __name__ == "__main__":
    for release in sys.argv[1:]:
        for message in messages_of(release):
            print(release, *message, sep="\t")
