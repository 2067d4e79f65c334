"""The schemas of a registry, from the records of its topic: ids, versions of subjects, deletions, references.

Kafka's brokers know nothing of it. Confluent: KafkaStoreMessageHandler, InMemoryCache; Karapace: KafkaSchemaReader.
"""

from __future__ import annotations

import json

from kdump.schemas.bounds import MAX_SCHEMA_SIZE
from kdump.schemas.schema import ACTIVE, AVRO, HARD_DELETED, SOFT_DELETED, STATES, TYPES, Reference, Schema, guid_of
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Version = tuple[str, int]  # subject, version

MAX_HELD_BYTES = 16 << 20
"""Bytes of compressed texts that are held at most."""

MAX_VERSIONS = 50_000
"""Versions of subjects that are held at most."""

_MAX_RECORD = 8 << 20  # bytes of a key or value

_MAX_SAID = 5  # records of the registry's topic of which one message each is kept


class Registered(Declared):
    """A schema with its id. `subjects` are the versions of subjects that have it, or had it if none has it now."""

    id: int | None
    schema: Schema
    subjects: list[str]
    state: str


class Registry:
    """Schemas by id, GUID and version. Ids of contexts other than the default one (`:.name:subject`) are kept apart."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        """The directory of its topic, for messages."""
        self._schemas: dict[tuple[str, int], Schema] = {}  # by context and id
        self._guids: dict[str, list[int]] = {}  # of the default context
        self._versions: dict[Version, tuple[int, str]] = {}  # those there are: id, state
        self._last_ids: dict[Version, int] = {}  # those there ever were
        self._carriers: dict[tuple[str, int], dict[Version, None]] = {}  # all versions that ever had an id
        self._subjects: dict[str, set[int]] = {}  # versions of a subject that there ever were
        self._held_bytes = 0
        self.problem_count = 0  # with those that `problems` leaves out
        self.problems: list[str] = []
        """What is wrong with the registry's topic, the first few."""
        self.is_read = True
        """Whether the system gave all that the topic holds, damaged or not."""

    def note(self, problem: str) -> None:
        """Add a problem."""
        self.problem_count += 1
        if len(self.problems) < _MAX_SAID:
            self.problems.append(problem)

    def __len__(self) -> int:
        return len(self._schemas)

    # Records

    def replay(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Apply a record of the registry's topic; one that is malformed is a problem."""
        try:
            fields = _object(key)
            kind = fields.get("keytype")
            if kind == "SCHEMA":
                self._replay_schema(_text(fields, "subject"), _integer(fields, "version"), value)
            elif kind == "DELETE_SUBJECT" and value:
                given = _object(value)
                self._delete(_text(given, "subject"), _integer(given, "version"))
            elif kind == "CLEAR_SUBJECT" and value:
                self._clear(_text(_object(value), "subject"))
        except (ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, _Malformed) else "it is no JSON"
            self.note(f"the record with offset {offset} is not one of a schema registry: {reason}")

    def _replay_schema(self, subject: str, version: int, value: bytes | None) -> None:
        at = (subject, version)
        if not value:  # deleted for good: Confluent writes null, Karapace nothing
            self._versions.pop(at, None)
            return
        fields = _object(value)
        id, text = _integer(fields, "id"), _text(fields, "schema")
        if len(text) > MAX_SCHEMA_SIZE:
            raise _Malformed(f"its schema has {len(text):,} characters, more than the {MAX_SCHEMA_SIZE:,} that are read")
        type = fields.get("schemaType") or AVRO
        if type not in TYPES:
            raise _Malformed(f"the schema type {str(type)[:50]!r} is not known")
        if at not in self._last_ids and len(self._last_ids) >= MAX_VERSIONS:
            raise _Malformed(f"more than {MAX_VERSIONS:,} versions of subjects are not held")
        listed = _list(fields.get("references"))
        references = [Reference(_text(one, "name"), _text(one, "subject"), _integer(one, "version")) for one in listed]
        where = (context_of(subject), id)
        known = self._schemas.get(where)
        if known is None or known.text != text:
            self._hold(where, Schema(str(type), text, references))
            if not where[0]:
                self._guids.setdefault(guid_of(text, references), []).append(id)
        self._versions[at] = id, SOFT_DELETED if fields.get("deleted") is True else ACTIVE
        self._last_ids[at] = id
        self._carriers.setdefault(where, {})[at] = None
        self._subjects.setdefault(subject, set()).add(version)

    def _hold(self, where: tuple[str, int], schema: Schema) -> None:
        self._held_bytes += schema.held_bytes
        if self._held_bytes > MAX_HELD_BYTES:
            self._held_bytes -= schema.held_bytes
            raise _Malformed(f"schemas of more than {MAX_HELD_BYTES >> 20} MiB, compressed, are not held")
        self._schemas[where] = schema

    def _delete(self, subject: str, last: int) -> None:
        """Mark the versions of a subject as deleted, up to this one; those that are registered later stay."""
        for version in self._subjects.get(subject, ()):
            id, state = self._versions.get((subject, version), (0, HARD_DELETED))
            if state == ACTIVE and version <= last:
                self._versions[subject, version] = id, SOFT_DELETED

    def _clear(self, subject: str) -> None:
        """Forget the versions of a subject that are marked as deleted."""
        for version in self._subjects.get(subject, ()):
            if self._versions.get((subject, version), (0, ACTIVE))[1] == SOFT_DELETED:
                del self._versions[subject, version]

    # Answers

    def by_id(self, id: int, context: str = "") -> Registered | None:
        """The schema with an id, deleted or not; None if the topic does not have it (any more)."""
        schema = self._schemas.get((context, id))
        if schema is None:
            return None
        carriers = self._carriers[context, id]
        now = {at: self._versions[at][1] for at in carriers if self._versions.get(at, (None,))[0] == id}
        state = min(now.values(), key=STATES.index, default=HARD_DELETED)
        return Registered(id, schema, sorted(f"{subject}/{version}" for subject, version in now or carriers), state)

    def by_guid(self, guid: str) -> Registered | None:
        """The schema with a GUID; of several with one text, one that is not deleted, and the newest of these."""
        found = [one for one in map(self.by_id, self._guids.get(guid, ())) if one is not None]
        return min(found, key=lambda one: (STATES.index(one.state), -(one.id or 0)), default=None)

    def by_version(self, subject: str, version: int) -> Schema | None:
        """The schema of a version of a subject, deleted or not."""
        id = self._last_ids.get((subject, version))
        return None if id is None else self._schemas.get((context_of(subject), id))

    def newest(self, subject: str) -> Registered | None:
        """The schema of the newest version of a subject that is not deleted."""
        versions = [version for version in self._subjects.get(subject, ()) if (subject, version) in self._versions]
        active = [version for version in versions if self._versions[subject, version][1] == ACTIVE]
        return self.by_id(self._versions[subject, max(active)][0], context_of(subject)) if active else None

    def all(self) -> Iterable[tuple[int, Schema]]:
        """The schemas of the default context with their ids."""
        return [(id, schema) for (context, id), schema in self._schemas.items() if not context]


def context_of(subject: str) -> str:
    """The context in the name of a subject, `.name` in `:.name:subject`; empty for the default one."""
    if not subject.startswith(":."):
        return ""
    context = subject[1:].partition(":")[0]
    return "" if context == "." else context


class _Malformed(ValueError):
    """A record that is not what a registry writes."""


def _object(data: bytes | None) -> dict[str, object]:
    if data is None:
        raise _Malformed("it has no key")
    if len(data) > _MAX_RECORD:
        raise _Malformed(f"it has {len(data):,} bytes")
    fields = json.loads(data)
    if not isinstance(fields, dict):
        raise _Malformed("it is no JSON object")
    return fields


def _text(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _Malformed(f"it has no {name}")
    return value


def _integer(fields: dict[str, object], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Malformed(f"it has no {name}")
    return value


def _list(value: object) -> list[dict[str, object]]:
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]
