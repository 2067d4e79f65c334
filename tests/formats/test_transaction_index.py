"""Transaction indexes: the aborted transactions of a segment."""

from hypothesis import given
from hypothesis import strategies as st

from kdump.formats import transaction_index
from tests.builders.files import aborted_transaction
from tests.builders.files import transaction_index as build
from tests.loops import each
from tests.support import INT16, INT64, Values, opened, values_of

ONE = aborted_transaction(producer_id=1234, first_offset=5, last_offset=9, last_stable_offset=12)


def _read(data: bytes) -> list[Values]:
    with opened(data) as source:
        return [values_of(row) for table in transaction_index.read(source) for row in table]


@each(
    ("data", "versions"),
    [
        (b"", []),
        *((build(entries=[ONE, ONE], trailing=bytes(rest)), [0, 0]) for rest in (1, 33)),
        (aborted_transaction(version=0x0102) + aborted_transaction(version=-1), [258, -1]),
    ],
)
def test_whole_entries_are_read_with_their_versions(data: bytes, versions: list[int]) -> None:
    assert [row["version"] for row in _read(data)] == versions


def test_an_index_larger_than_a_window_is_read() -> None:
    count = (1 << 20) // 34 + 5
    rows = _read(ONE * count)
    assert (len(rows), rows[-1]["last_stable_offset"]) == (count, 12)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"version": INT16, "producer_id": INT64, "first_offset": INT64, "last_offset": INT64, "last_stable_offset": INT64}
        ),
        max_size=6,
    ),
    st.binary(max_size=33),
)
def test_transactions_are_read_as_they_were_built(transactions: list[dict[str, int]], trailing: bytes) -> None:
    entries = [aborted_transaction(**transaction) for transaction in transactions]
    assert _read(build(entries=entries, trailing=trailing)) == transactions
