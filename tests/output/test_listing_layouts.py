"""Cells of many records at once are those of each record alone."""

from hypothesis import given
from hypothesis import strategies as st

from kdump.output.rows.listing import ListedRecord
from kdump.output.rows.listing_layouts import layout_of_records
from kdump.tables import Table

NUMBERS = st.none() | st.integers(-(1 << 31), (1 << 31) - 1)
TIMES = st.none() | st.sampled_from([-1, 0, 1_700_000_000_001, 1 << 62])
TEXTS = st.none() | st.sampled_from(["", "plain", "\x1b[31m", "größer", "x" * 70_000])
HEADERS = st.none() | st.sampled_from(
    [[], [{"key": "h", "keyBase64": None, "value": "v", "valueBase64": None}], [{"key": None, "keyBase64": "/w=="}] * 2]
)
DECODED = st.none() | st.sampled_from(
    ['{"controlType":"COMMIT"}', '{"type":"1","data":{"group":"g"}}', '{"type":"REGISTER","data":1}', '"text"', "[1, 2]", "7"]
)
SCHEMAS = st.none() | st.just('{"id":1}')
ERRORS = st.none() | st.sampled_from(["code: the reason", "code: \x07", "without reason"])
ROWS = st.lists(
    st.tuples(
        *(NUMBERS, TIMES, NUMBERS, NUMBERS, NUMBERS, HEADERS),
        *(TEXTS, st.none() | st.just("/w=="), TEXTS, st.none() | st.just("/w==")),
        *(DECODED, DECODED, SCHEMAS, SCHEMAS, ERRORS),
        *(st.integers(0, 99), st.sampled_from(["intact", "salvaged"]), st.just("a.log")),
    ),
    min_size=1,
    max_size=4,
)


@given(ROWS)
def test_cells_of_many_records_are_those_of_each(rows: list[tuple[object, ...]]) -> None:
    table = Table.of(ListedRecord, rows)
    layout = layout_of_records()
    assert layout.columns_of is not None
    together = zip(*layout.columns_of(table), strict=True)
    assert list(map(list, together)) == [layout.cells_of(row) for row in table]
    assert len(layout.headings) == len(layout.columns_of(table))
