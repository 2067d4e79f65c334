"""The order of producers in a snapshot is that of Java's HashMap, as the log manager of 4.3.1 wrote it."""

from kdump.mending.new import java_hash_map
from tests.loops import each

EIGHT = [0, 16, 32, 48, 64, 80, 96, 112]


@each(
    "keys, listed",
    [
        ([5, 3, 0, 15, 9], [0, 3, 5, 9, 15]),  # small keys are in the order of their numbers
        ([16, 0, 32, 1], [16, 0, 32, 1]),  # keys of one bucket in the order in which they came
        ([1, 32, 0, 16], [32, 0, 16, 1]),
        ([16, *range(12)], [*range(12), 16]),  # a table grows when it is three quarters full: 13 keys
        ([16, *range(11)], [16, *range(11)]),  # 12 keys
        (EIGHT, EIGHT),  # a full bucket makes a small table grow
        ([*EIGHT, 128], [0, 32, 64, 96, 128, 16, 48, 80, 112]),
        ([1 << 32, 0], [0, 1 << 32]),  # the upper bits of a key count
        ([3 << 16, 2], [2, 3 << 16]),
    ],
    ids=str,
    quick=9,
)
def test_keys_are_in_the_order_of_their_buckets(keys: list[int], listed: list[int]) -> None:
    assert java_hash_map.listed(keys) == listed
