"""Shows matches whose keys or values are too large to hold: they are written in pieces, in the places of tokens."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial

from kdump.binary.file_bytes import FileBytes, whole
from kdump.binary.tolerant_source import TolerantSource
from kdump.output.rows.hits import Hit
from kdump.searching.log_search import Found
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.output.blocks import Blocks
    from kdump.output.stand_ins import StandIns
    from kdump.pipeline.discovery import FileItem

FORMS = ("kafka", "ndjson", "json", "csv")
"""The forms of output in which values can be written piece by piece."""

_FIELDS = ("key", "value")


class LargeHits:
    """Writes text to `out`, with large keys and values in the places of their tokens. `form` is one of FORMS."""

    def __init__(
        self, out: Blocks, form: str, show: Callable[[bytes], str], *, is_terminal: bool, escapes_formulas: bool
    ) -> None:
        self._out = out
        self._form = form
        self._show = show
        self._is_terminal = is_terminal
        self._escapes_formulas = escapes_formulas
        self._stand_ins: StandIns | None = None
        self._base64: dict[str, str] = {}  # tokens of fields that are not UTF-8

    def write(self, text: str) -> None:
        """Write text. Raises Unreadable if a large value cannot be read."""
        if self._stand_ins is None:
            self._out.write(text)
        else:
            self._stand_ins.write(text, self._out.write)

    @contextmanager
    def standing_in(self, item: FileItem, found: Found, *, decodes: bool) -> Iterator[Found]:
        """The same records with tokens for large keys and values, until the end of the block. Raises Unreadable.

        If it `decodes`, keys and values are read as a whole.
        """
        large = [name for name in _FIELDS if _has_large(found, name)]
        if not large:
            yield found
            return
        from kdump.output.stand_ins import StandIns

        with ExitStack() as stack:
            source: TolerantSource | None = None
            columns = dict(found.part.records.columns)
            stand_ins = StandIns()
            for name in large:
                data: FileBytes = columns[name][0]
                if not data.is_attached:  # another process has found it
                    source = source or stack.enter_context(TolerantSource(item.path))
                    data.attach(source)
                columns[name] = [whole(data) if decodes else self._token(stand_ins, name, data).encode()]
            part = found.part.with_records(Table(found.part.records.row_class, columns))
            if not decodes:
                self._stand_ins = stand_ins
            try:
                yield Found(part, found.statuses, found.rows, found.matched)
            finally:
                self._stand_ins = None
                self._base64 = {}

    def placed(self, table: Table[Hit]) -> Table[Hit]:
        """Rows with the tokens of what is not UTF-8 in the columns for Base64."""
        if not self._base64:
            return table
        columns = dict(table.columns)
        for name, token in self._base64.items():
            columns |= {name: [None], f"{name}_base64": [token]}
        return Table(Hit, columns)

    def _token(self, stand_ins: StandIns, name: str, data: FileBytes) -> str:
        from kdump.output.large_values import TextFacts, csv_pieces, java_pieces, json_pieces

        if self._form == "kafka":
            return stand_ins.add(partial(java_pieces, data, self._show))
        facts = TextFacts(data)
        if self._form == "csv":
            token = stand_ins.add(
                partial(csv_pieces, data, facts, is_terminal=self._is_terminal, escapes_formulas=self._escapes_formulas)
            )
        else:
            token = stand_ins.add(partial(json_pieces, data, facts))
        if not facts.is_utf8:
            self._base64[name] = token
        return token


def _has_large(found: Found, name: str) -> bool:
    """Whether the key or value is large: such a record comes alone."""
    records = found.part.records
    return len(records) == 1 and isinstance(records[name][0], FileBytes)
