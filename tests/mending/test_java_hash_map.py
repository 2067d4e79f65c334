"""The order of producers in a snapshot is that of Java's HashMap, as the log manager of 4.3.1 wrote it."""

from kdump.mending.new import java_hash_map


def test_small_keys_are_in_the_order_of_their_numbers() -> None:
    assert java_hash_map.listed([5, 3, 0, 15, 9]) == [0, 3, 5, 9, 15]


def test_keys_of_one_bucket_keep_the_order_in_which_they_came() -> None:
    assert java_hash_map.listed([16, 0, 32, 1]) == [16, 0, 32, 1]
    assert java_hash_map.listed([1, 32, 0, 16]) == [32, 0, 16, 1]


def test_a_table_grows_when_it_is_three_quarters_full() -> None:
    assert java_hash_map.listed([16, *range(12)]) == [*range(12), 16]  # 13 keys
    assert java_hash_map.listed([16, *range(11)]) == [16, *range(11)]  # 12 keys


def test_a_full_bucket_makes_a_small_table_grow() -> None:
    assert java_hash_map.listed([0, 16, 32, 48, 64, 80, 96, 112]) == [0, 16, 32, 48, 64, 80, 96, 112]
    assert java_hash_map.listed([0, 16, 32, 48, 64, 80, 96, 112, 128]) == [0, 32, 64, 96, 128, 16, 48, 80, 112]


def test_the_upper_bits_of_a_key_count() -> None:
    assert java_hash_map.listed([1 << 32, 0]) == [0, 1 << 32]
    assert java_hash_map.listed([3 << 16, 2]) == [2, 3 << 16]
