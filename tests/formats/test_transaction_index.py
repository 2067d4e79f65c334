"""Transaction indexes: the aborted transactions of a segment."""

from hypothesis import given
from hypothesis import strategies as st

from kdump.formats import transaction_index
from tests.builders.files import aborted_transaction
from tests.builders.files import transaction_index as build
from tests.support import INT16, INT64, Values, opened, values_of


def _read(data: bytes) -> list[Values]:
    with opened(data) as source:
        return [values_of(row) for table in transaction_index.read(source) for row in table]


def test_an_index_larger_than_a_window_is_read() -> None:
    count = (1 << 20) // 34 + 5
    rows = _read(aborted_transaction(last_stable_offset=12) * count)
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
