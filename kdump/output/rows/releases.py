"""Releases and what they changed, as rows."""

from __future__ import annotations

from kdump.output.rows.ndjson import NdjsonFormatter
from kdump.tables import Int32, Row, Table, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kdump.releases.changes import Change, Group, Plain


class ListedGroup(Row):
    """Releases that print alike, and in phrases what the first of them changed."""

    first: Text
    last: Text
    count: Int32
    releases: list[Text]
    changes: list[Text]


class ListedChange(Row):
    """Something that is not the same in two releases; `old` or `new` is null where one does not have it."""

    old_release: Text
    new_release: Text
    kind: Text
    name: Text
    summary: Text
    what: Text
    old: Plain
    new: Plain


def groups_ndjson(groups: Sequence[Group], write: Callable[[str], None]) -> None:
    """One object a group."""
    rows = [
        [group.releases[0], group.releases[-1], len(group.releases), group.releases, [change.summary for change in group.changes]]
        for group in groups
    ]
    _write(ListedGroup, rows, write)


def changes_ndjson(old: str, new: str, changes: Sequence[Change], write: Callable[[str], None]) -> None:
    """One object a change."""
    rows = [[old, new, *(getattr(change, column.name) for column in ListedChange.schema[2:])] for change in changes]
    _write(ListedChange, rows, write)


def _write(row_class: type[Row], rows: Iterable[list[object]], write: Callable[[str], None]) -> None:
    formatter = NdjsonFormatter(write)
    formatter.start(row_class)
    formatter.write(Table.of(row_class, list(rows)))
    formatter.end()
