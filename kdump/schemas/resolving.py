"""The schemas that a schema refers to, in the order in which they have to be read."""

from __future__ import annotations

from kdump.schemas.bounds import MAX_REFERENCES, MAX_TEXTS, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.schemas.registry import Registry
    from kdump.schemas.schema import Schema

    Named = tuple[str, Schema]


def references_of(schema: Schema, registry: Registry | None) -> list[Named]:
    """All schemas that a schema refers to, directly or not, each after those that it refers to itself, with their names.

    Raises CorruptData (`schema-invalid`) if one is missing, if they refer to each other in a circle, or if there are too many.
    """
    found: list[Named] = []
    size = 0
    done: set[tuple[str, str, int]] = set()
    path: set[tuple[str, int]] = set()
    # a stack instead of recursion: chains of references may be long
    stack = [(iter(schema.references), ("", 0))]
    pending: list[Named | None] = [None]
    while stack:
        references, at = stack[-1]
        reference = next(references, None)
        if reference is None:
            stack.pop()
            path.discard(at)
            ready = pending.pop()
            if ready is not None:
                found.append(ready)
            continue
        version = (reference.subject, reference.version)
        if version in path:
            raise invalid(f"schemas refer to each other in a circle: {reference.subject[:100]} version {reference.version}")
        if (reference.name, *version) in done:
            continue
        done.add((reference.name, *version))
        if len(done) > MAX_REFERENCES:
            raise invalid(f"the schema refers to more than {MAX_REFERENCES} others")
        other = None if registry is None else registry.by_version(*version)
        if other is None:
            raise invalid(f"the schema refers to {reference.subject[:100]} version {reference.version}, which is missing")
        size += len(other.text)
        if size > MAX_TEXTS:
            raise invalid(f"the schemas that it refers to have more than {MAX_TEXTS >> 20} MiB of text")
        path.add(version)
        stack.append((iter(other.references), version))
        pending.append((reference.name, other))
    return found
