"""Compares the definitions of stored messages in Kafka's jars with those of the newest release that kdump knows, and its schemas.

python -m tools.definitions          # says what is new in the newest release that is published
python -m tools.definitions RELEASE  # in this release

Returns 1 if there is something new, or kdump's schemas differ from the definitions of the newest release that kdump knows. Needs
Maven. Whether an array has keys is not compared: it is stored alike, and matters only to releases that do not bound sizes.
"""

import argparse
import json
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kdump.messages import (
    cluster_metadata,
    consumer_offsets,
    consumer_protocol,
    control_records,
    remote_log_metadata,
    share_group_state,
    transaction_state,
)
from kdump.messages.schema import NEVER, Field, Message, default_of
from kdump.releases.known import RELEASES
from tests.oracle import kafka_tool

OTHERS = frozenset(
    ("AbortedTxn", "ControlRecordTypeSchema", "DefaultPrincipalData", "EndTxnMarker", "ProducerSnapshot", "QuorumStateData")
)
"""Definitions without a schema in kdump: of fixed layouts, of the text in `quorum-state`, and of what only requests contain."""

_FILE = re.compile(r"(?:common/)?(?:message|metadata)/\w+\.json")
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*')
_IN_REQUESTS = ("header", "request", "response")
_MESSAGE_KEYS = {"apiKey", "commonStructs", "fields", "flexibleVersions", "name", "type", "validVersions"}
_FIELD_KEYS = {
    "about",
    "default",
    "entityType",
    "fields",
    "ignorable",
    "mapKey",
    "name",
    "nullableVersions",
    "tag",
    "taggedVersions",
}
_FIELD_KEYS |= {"type", "versions", "zeroCopy"}


class Definition(NamedTuple):
    """A message, with the number at the start of its records (None if it has none) and its first version."""

    number: int | None
    first: int
    message: Message


def main() -> int:
    """Print the differences. Returns 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tools.definitions")
    parser.add_argument("release", nargs="?")
    known = RELEASES[-1]
    release = parser.parse_args().release or kafka_tool.newest_release(known)
    definitions = of_release(known)
    found = [f"{known} -> kdump: {line}" for line in disagreements(definitions)]
    found += [f"{known} -> {release}: {line}" for line in differences(definitions, of_release(release))]
    print(*found or [f"{release} has nothing new"], sep="\n")
    return int(bool(found))


def of_release(release: str) -> dict[str, Definition]:
    """The definitions of stored messages of a release, by name. Raises OracleError if Maven cannot fetch its jars."""
    found = {}
    for jar in map(Path, kafka_tool.fetch(release).split(os.pathsep)):
        if jar.name.endswith(f"-{release}.jar"):
            with zipfile.ZipFile(jar) as files:
                texts = [files.read(name).decode() for name in files.namelist() if _FILE.fullmatch(name)]
            found.update({one.message.name: one for one in map(definition, texts) if one})
    return found


def definition(text: str) -> Definition | None:
    """The definition in a file of Kafka's; None if it is that of a request. Raises ValueError for what a schema cannot say."""
    content = json.loads(_COMMENT.sub(lambda found: found[1] or "", text))
    if content["type"] in _IN_REQUESTS:
        return None
    _check_keys(content, _MESSAGE_KEYS, content["name"])
    first, end = _versions(content["validVersions"])
    structs = {struct["name"]: struct["fields"] for struct in content.get("commonStructs", ())}
    fields = [_field(field, structs) for field in content["fields"]]
    flexible_since, _ = _versions(content["flexibleVersions"])
    message = Message(content["name"], *fields, flexible_since=flexible_since, last_version=end - 1)
    return Definition(content.get("apiKey"), first, message)


def of_kdump() -> Iterator[tuple[int | None, Message]]:
    """The messages that kdump has schemas for, with their numbers."""
    yield from cluster_metadata.RECORDS.items()
    yield from remote_log_metadata.RECORDS.items()
    for records in (consumer_offsets.RECORDS, transaction_state.RECORDS, share_group_state.RECORDS):
        yield from ((number, message) for number, pair in records.items() for message in pair)
    messages = (*control_records.MESSAGES.values(), consumer_protocol.SUBSCRIPTION, consumer_protocol.ASSIGNMENT)
    yield from ((None, message) for message in messages)


def disagreements(definitions: Mapping[str, Definition]) -> Iterator[str]:
    """How kdump's schemas differ from a release's definitions, whose last version they have if they say none."""
    ours = {}
    for number, message in of_kdump():
        theirs = definitions.get(message.name, Definition(number, 0, message))
        last = theirs.message.last_version if message.last_version == NEVER else message.last_version
        copy = Message(message.name, *message.fields, flexible_since=message.flexible_since, last_version=last)
        ours[message.name] = Definition(number, theirs.first, copy)
    yield from differences({name: one for name, one in definitions.items() if name not in OTHERS}, ours)


def differences(old: Mapping[str, Definition], new: Mapping[str, Definition]) -> Iterator[str]:
    """What is new in, changed in or missing from the new definitions: a line for each message, version and field."""
    for name in sorted(old.keys() | new.keys()):
        before = facts(old[name]) if name in old else {}
        after = facts(new[name]) if name in new else {}
        if not before or not after:
            yield f"{name}: {'missing' if before else 'new'}"
        for key in dict.fromkeys((*before, *after)):
            if key not in after:
                yield from [f"{name}: {key}: missing"] if after else []
            elif key not in before:
                yield f"{name}: {key}: new: {after[key]}"
            elif before[key] != after[key]:
                yield f"{name}: {key}: {before[key]} -> {after[key]}"
        if [key for key in before if key in after] != [key for key in after if key in before]:
            yield f"{name}: the order of its fields: {', '.join(before)} -> {', '.join(after)}"


def facts(one: Definition) -> dict[str, str]:
    """What the definition says about the message, and about each of its fields, in the order on disk."""
    message = one.message
    found = {"number": str(one.number), "versions": f"{one.first} to {message.last_version}"}
    found["compact"] = _span(max(one.first, message.flexible_since), NEVER, message.last_version)
    found.update(_facts(message.fields, "field ", one.first, NEVER, message.last_version))
    return found


def _facts(fields: tuple[Field, ...], prefix: str, first: int, end: int, last: int) -> Iterator[tuple[str, str]]:
    """The facts of the fields of a struct that is in the versions from `first` to before `end`; the message ends with `last`."""
    for field in fields:
        since, until = max(first, field.since), min(end, field.until)
        parts = ["[]" * field.is_array + (field.struct_name or field.type), f"in {_span(since, until, last)}"]
        if field.nullable_since != NEVER:
            parts.append(f"null in {_span(max(since, field.nullable_since), until, last)}")
        if field.tag is not None:
            parts.append(f"tag {field.tag} in {_span(max(since, field.tagged_since), until, last)}")
        if not field.fields or field.default_is_null:
            parts.append(f"default {default_of(field)!r}")
        if field.is_common:
            parts.append("common")
        yield prefix + field.name, ", ".join(parts)
        yield from _facts(field.fields, f"{prefix}{field.name}.", since, until, last)


def _span(first: int, end: int, last: int) -> str:
    """Versions in Kafka's notation: `2+` if no later version is without, `2-3`, `none`."""
    if first > last or first >= end:
        return "none"
    return f"{first}+" if end > last else f"{first}-{end - 1}"


def _field(content: Mapping[str, Any], structs: Mapping[str, list[Any]]) -> Field:  # Any: JSON
    name = content["name"][0].lower() + content["name"][1:]
    _check_keys(content, _FIELD_KEYS, name)
    kind = content["type"].removeprefix("[]")
    fields = [_field(field, structs) for field in content.get("fields", structs.get(kind, ()))]
    tagged_since, tagged_end = _versions(content.get("taggedVersions", "none"))
    since, until = _versions(content["versions"]) if "versions" in content else (tagged_since, tagged_end)
    nullable_since, nullable_end = _versions(content.get("nullableVersions", "none"))
    if min(nullable_end, tagged_end) < until:
        raise ValueError(f"{name} is nullable or tagged only in versions before its last")
    default = "" if content.get("default") is None else str(content["default"])  # Kafka's generator takes null for no default
    return Field(
        name,
        content["type"],
        *fields,
        since=since,
        until=until,
        nullable_since=nullable_since,
        tag=content.get("tag"),
        tagged_since=tagged_since,
        default=_default(kind, default),
        default_is_null=default == "null",
        is_common=kind in structs,
    )


def _default(kind: str, text: str) -> int | bool | float | str | None:
    """A default that is not that of the type; None if there is none."""
    if text in ("", "null"):
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "float64":
        return float(text)
    return int(text, 0) if "int" in kind else text


def _versions(text: str) -> tuple[int, int]:
    """The first version of a range in Kafka's notation, and the first later one without; NEVER for both of `none`."""
    if text == "none":
        return NEVER, NEVER
    first, _, last = text.removesuffix("+").partition("-")
    return int(first), NEVER if text.endswith("+") else int(last or first) + 1


def _check_keys(content: Mapping[str, Any], known: set[str], name: str) -> None:  # Any: JSON
    if content.keys() - known:
        raise ValueError(f"the definition of {name} has what is not known here: {', '.join(sorted(content.keys() - known))}")


if __name__ == "__main__":
    sys.exit(main())
