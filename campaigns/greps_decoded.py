"""Searches topics of two schema registries by their decoded keys and values, and compares the hits with recorded answers.

    python -m campaigns.greps_decoded --count 2000

What each key and value is was recorded from the official deserializers (`tests/registries/`). Conditions are made of that:
`--where PATH=VALUE`, patterns in decoded keys and values, also with ranges of offsets. A record that was not decoded must be
among those that were not read, if the condition is about it.
"""

import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kdump
from campaigns import numbered
from tests import plain_reader
from tests.registries import answers, has_schema, unpack

Answer = dict[str, Any]
Parts = dict[str, Answer]  # by key and value


@cache
def topics() -> list[tuple[str, str, dict[int, Parts]]]:
    """Log directories, partitions, and the recorded keys and values by offset; those that need no options."""
    found = []
    for (case, partition, options), recorded in sorted(answers().items()):
        rows: dict[int, Parts] = defaultdict(dict)
        for answer in recorded:
            rows[answer["offset"]][answer["part"]] = answer
        if not options:
            found.append((case, partition, rows))
    return found


def _scalars(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The texts and whole numbers of a document, with their paths; names with a dot cannot be asked for."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        if "." not in str(name) and "=" not in str(name) and name not in ("", "*"):
            yield from _scalars(one, f"{path}.{name}" if path else str(name))
    if path and isinstance(value, str | int | None):
        yield path, value


def _contains(parts: Parts, names: list[str], pattern: str, raw: dict[str, bytes | None]) -> bool | None:
    """Whether the JSON of one of these parts contains a pattern; None if one was not decoded and no other contains it."""
    is_known = True
    for name in names:
        answer = parts[name]
        if has_schema(answer) and "decoded" not in answer:
            is_known = False
        elif has_schema(answer):
            text = json.dumps(answer["decoded"], ensure_ascii=False, separators=(",", ":"))
            if pattern in text or json.dumps(pattern, ensure_ascii=False)[1:-1] in text:
                return True
        elif (raw[name] or b"").find(pattern.encode()) >= 0:
            return True
    return False if is_known else None


def _has_at(document: Any, path: str, value: Any) -> bool:
    for step in path.split("."):
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list) and step.isdecimal() and int(step) < len(document):
            document = document[int(step)]
        else:
            return False
    if isinstance(value, bool) or value is None or isinstance(document, bool) or document is None:
        return document is value
    return bool(document == value) or isinstance(document, str) and document == str(value)


def faults(folder: Path, topic: tuple[str, str, dict[int, Parts]], chance: random.Random) -> Iterator[str]:
    """Ask one question of a topic: what is wrong with the hits and the verdict."""
    case, partition, rows = topic
    place = folder / case / partition
    raw = {
        record.offset: {"key": record.key, "value": record.value}
        for path in place.glob("*.log")
        for record in plain_reader.read(path.read_bytes()).records
    }
    decoded = [part["decoded"] for parts in rows.values() for part in parts.values() if has_schema(part) and "decoded" in part]
    found = [scalar for document in decoded for scalar in _scalars(document)]
    if not found:
        return
    path, value = chance.choice(found)
    options: dict[str, Any] = {}
    pattern: str | None = None
    names: list[str] = ["value"]
    if chance.random() < 0.5:
        options["where"] = [f"{path}={json.dumps(value, ensure_ascii=False)}"]
    else:
        text = chance.choice([str(one) for _, one in found if isinstance(one, str | int)] or ["x"])
        start = chance.randrange(len(text)) if text else 0
        pattern = text[start : start + chance.randrange(2, 8)] or "zz"
        if pattern.strip("0123456789.-+e") == "":
            pattern = f'"{path.rpartition(".")[2]}":'  # numbers may be written in several ways
        options["fields"] = chance.choice((["decoded"], ["decoded-key"], ["decoded-value"]))
        names = {"decoded": ["key", "value"], "decoded-key": ["key"], "decoded-value": ["value"]}[options["fields"][0]]
    if not all(name in parts for parts in rows.values() for name in names):
        return  # it was asked for with options
    if chance.random() < 0.3:
        options["from_offset"] = chance.choice(sorted(rows))
    search = kdump.grep(pattern, place, **options)
    hits = {hit.offset for hit in search if hit.offset in rows}
    wanted: dict[int, bool | None] = {}
    for offset, parts in rows.items():
        if offset < options.get("from_offset", 0):
            wanted[offset] = False
        elif pattern is not None:
            wanted[offset] = _contains(parts, names, pattern, raw[offset])
        elif has_schema(parts["value"]):
            answer = parts["value"]
            wanted[offset] = _has_at(answer["decoded"], path, value) if "decoded" in answer else None
        else:
            wanted[offset] = False
    question = f"{case}/{partition} {pattern!r} {options}"
    surely = {offset for offset, is_wanted in wanted.items() if is_wanted}
    unknown = {offset for offset, is_wanted in wanted.items() if is_wanted is None}
    if surely - hits or hits - surely - unknown:
        yield f"{question}: missing {sorted(surely - hits)}, too many {sorted(hits - surely - unknown)}"
    for offset in unknown - hits:
        if not any(gap.offset is None or gap.offset <= offset < (gap.next_offset or offset + 1) for gap in search.not_read):
            yield f"{question}: offset {offset} was not decoded, and nothing says so"
    if unknown - hits and search.verdict.exit_code != 3:
        yield f"{question}: {search.verdict.verdict}, exit code {search.verdict.exit_code}"


def main() -> int:
    def faults_of(seed: int, number: int, _folder: Path) -> Iterator[str]:
        chance = random.Random(f"{seed}/{number}")
        yield from faults(Path(registries), chance.choice(topics()), chance)

    arguments = numbered.parser(__doc__, 500).parse_args()
    with tempfile.TemporaryDirectory() as registries:
        unpack(Path(registries))
        return numbered.run(arguments, faults_of, "searches")


if __name__ == "__main__":
    sys.exit(main())
