"""Searches logs, also damaged ones, for random patterns with random options, and compares the hits with those of a plain filter.

    python -m campaigns.greps --count 10000 --seed 7
    python -m campaigns.greps --seed 7 --number 1234          one of them again

The records come from a plain reader (`tests/plain_reader.py`). In an intact log the hits must be the same. In a damaged one, all
records that it still finds must be there, unless they lie in a range that was not read, and each other hit must stand at its
position. The verdict may be `absent` only if the plain reader finds each byte intact.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import kdump
from campaigns import numbered
from campaigns.damage import damage
from golden_outputs.runs import CASES
from kdump.output.rows.hits import Hit
from tests import plain_reader
from tests.plain_reader import NotReadable, PlainRecord

LARGEST_SOURCE = 64 << 10
FIELDS = ("key", "value", "header", "header-name")
Identity = tuple[int, int, bytes | None, bytes | None]


class Case(NamedTuple):
    """One search: the bytes of a log, and the arguments of kdump.grep."""

    source: Path
    data: bytes
    is_damaged: bool
    pattern: bytes | None
    options: dict[str, Any]


@cache
def sources() -> list[Path]:
    """The logs of all golden cases that are not large."""
    return sorted(path for path in CASES.glob("*/*.log") if path.is_file() and path.stat().st_size <= LARGEST_SOURCE)


def case_of(seed: int, number: int) -> Case:
    """The search of this number."""
    chance = random.Random(f"{seed}-{number}")
    source = chance.choice(sources())
    data = source.read_bytes()
    is_damaged = chance.random() < 0.4
    if is_damaged:
        data = damage(".log", data, chance.choice(sources()).read_bytes(), chance).data
    records = plain_reader.read(data).records
    pattern, options = _question(chance, data, records)
    return Case(source, data, is_damaged, pattern, options)


def _question(chance: random.Random, data: bytes, records: list[PlainRecord]) -> tuple[bytes | None, dict[str, Any]]:
    """A pattern, mostly one that occurs in the log, and options."""
    options: dict[str, Any] = {}
    texts = [text for record in records for text in (record.key, record.value) if text] or [b"none"]
    text = chance.choice(texts)
    start = chance.randrange(len(text))
    pattern: bytes | None = text[start : start + chance.choice((1, 2, 3, 5, 8, 20))]
    assert pattern is not None
    kind = chance.random()
    if kind < 0.1 and data:  # also what crosses fields
        start = chance.randrange(len(data))
        pattern = data[start : start + chance.randrange(1, 12)]
    elif kind < 0.15:
        pattern = b""
    elif kind < 0.25:
        pattern = chance.randbytes(chance.randrange(1, 6))
    elif kind < 0.45:
        options["kind"] = "regex"
        literal = re.escape(pattern)
        pattern = chance.choice(
            (
                literal,
                b"^" + literal,
                literal + b"$",
                literal + b"?",
                b"(" + literal + b")+",
                literal + b".*[0-9]",
                b"[a-f]" + literal,
            )
        )
    if chance.random() < 0.25:
        options["ignore_case"] = True
        pattern = chance.choice((pattern, pattern.swapcase() if options.get("kind") != "regex" else pattern))
    if chance.random() < 0.3:
        options["fields"] = chance.sample(FIELDS, chance.randrange(1, 5))
    _add_conditions(chance, records, options)
    if options.keys() & {"key", "headers", "tombstones", "producer"} and chance.random() < 0.6:
        options.pop("kind", None)
        pattern = None
    return pattern, options


def _add_conditions(chance: random.Random, records: list[PlainRecord], options: dict[str, Any]) -> None:
    record = chance.choice(records) if records else None
    if record is None:
        return
    if chance.random() < 0.12 and record.key is not None:
        options["key"] = record.key
    if chance.random() < 0.1 and record.headers:
        name, value = chance.choice(record.headers)
        if name.isascii():
            options["headers"] = {name.decode(): chance.choice((None, value))}
    if chance.random() < 0.07:
        options["tombstones"] = True
    if chance.random() < 0.1:
        options["producer"] = record.producer_id
    if chance.random() < 0.12:
        options["from_offset"] = record.offset
    if chance.random() < 0.12:
        options["to_offset"] = record.offset + chance.randrange(4)
    if chance.random() < 0.08:
        options["from_time"] = record.timestamp
    if chance.random() < 0.08:
        options["to_time"] = record.timestamp


def matches(case: Case) -> Callable[[PlainRecord], bool]:
    """The plain filter."""
    options, pattern = case.options, case.pattern
    flags = re.IGNORECASE if options.get("ignore_case") else 0
    expression = None
    if pattern is not None:
        expression = re.compile(pattern if options.get("kind") == "regex" else re.escape(pattern), flags)
    fields = options.get("fields") or FIELDS[:3]

    def one(record: PlainRecord) -> bool:
        if "key" in options and record.key != options["key"]:
            return False
        for name, value in options.get("headers", {}).items():
            if not any(each == name.encode() and value in (None, of) for each, of in record.headers):
                return False
        if options.get("tombstones") and (record.value is not None or record.key is None):
            return False
        if "producer" in options and (record.producer_id != options["producer"] or record.is_legacy):
            return False
        if not options.get("from_offset", record.offset) <= record.offset <= options.get("to_offset", record.offset):
            return False
        has_times = options.keys() & {"from_time", "to_time"}
        if has_times and record.timestamp == -1:
            return False
        if not options.get("from_time", record.timestamp) <= record.timestamp <= options.get("to_time", record.timestamp):
            return False
        if expression is None:
            return True
        texts: dict[str, list[bytes | None]] = {
            "key": [record.key],
            "value": [record.value],
            "header": [value for _, value in record.headers],
            "header-name": [name for name, _ in record.headers],
        }
        return any(text is not None and expression.search(text) for name in fields for text in texts[name])

    return one


def faults(case: Case, folder: Path) -> Iterator[str]:
    """What is wrong with the answer of kdump; nothing if all is right."""
    path = folder / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(case.data)
    search = kdump.grep(case.pattern, path, **case.options)
    hits = [(_identity_of_hit(hit), hit) for hit in search]
    plain = plain_reader.read(case.data)
    fits = matches(case)
    expected = Counter(_identity(record) for record in plain.records if fits(record))
    found = Counter(identity for identity, _ in hits)
    verdict = search.verdict
    not_read = [(gap.start or 0, gap.end or 0) for gap in search.not_read]
    intact = Counter(
        _identity(record)
        for record in plain.records
        if fits(record) and record.is_intact and not any(start <= record.position < end for start, end in not_read)
    )
    is_stricter = case.is_damaged and any(gap.code.startswith("frame-") for gap in search.not_read)  # as Kafka is
    if plain.is_intact and plain.is_readable and found != expected and not is_stricter:
        yield f"{sum((expected - found).values())} hits are missing, {sum((found - expected).values())} are too many"
    if intact - found:
        yield f"intact records are missing: {list(intact - found)[:3]}"
    for identity, hit in hits:
        if identity not in expected and not _stands_there(case, hit, identity, fits):
            yield f"no record like this stands at byte {hit.position}: {identity}"
    if verdict.verdict == "absent" and (hits or not plain.is_intact):
        yield f"absent, with {len(hits)} hits, intact: {plain.is_intact}"
    if plain.is_intact and plain.is_readable and not hits and verdict.verdict != "absent" and not is_stricter:
        yield f"{verdict.verdict}, but all is intact: {search.not_read}"
    if plain.is_certain and not plain.is_intact and not search.not_read:
        yield "nothing is said about what is not intact"
    codes = {"found": 0, "absent": 1, "not proven": 3}
    if verdict.exit_code != (3 if search.not_read else codes[verdict.verdict]):
        yield f"exit code {verdict.exit_code} for {verdict.verdict}"


def _identity(record: PlainRecord) -> Identity:
    return record.offset, record.timestamp, record.key, record.value


def _identity_of_hit(hit: Hit) -> Identity:
    import base64

    def data(text: str | None, encoded: str | None) -> bytes | None:
        return text.encode() if text is not None else base64.b64decode(encoded) if encoded is not None else None

    assert hit.offset is not None and hit.timestamp is not None
    return hit.offset, hit.timestamp, data(hit.key, hit.key_base64), data(hit.value, hit.value_base64)


def _stands_there(case: Case, hit: Hit, identity: Identity, fits: Callable[[PlainRecord], bool]) -> bool:
    """Whether a record lies in the batch of a hit. One in bytes that the plain reader cannot read is not judged."""
    size = plain_reader.size_at(case.data, hit.position)
    if size is None or hit.status == "salvaged" and not plain_reader.is_crc_right(case.data, hit.position):
        return hit.status != "intact"  # its length or its magic is wrong
    try:
        return any(_identity(record) == identity and fits(record) for record in plain_reader.batch_at(case.data, hit.position))
    except NotReadable:
        return True


def main() -> int:
    def faults_of(seed: int, number: int, folder: Path) -> Iterator[str]:
        case = case_of(seed, number)
        for fault in faults(case, folder):
            yield f"{case.source.parent.name}, damaged: {case.is_damaged}, {case.pattern!r} {case.options}: {fault}"

    return numbered.run(__doc__, faults_of, "searches")


if __name__ == "__main__":
    sys.exit(main())
