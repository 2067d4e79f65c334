"""The order in which Java's HashMap lists keys of type Long, for the order of producers in a snapshot."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FIRST_CAPACITY = 16
_MIN_TREE_CAPACITY = 64  # below it, a full bucket makes the table grow
_MAX_LISTED = 8  # keys in a bucket that is a list


def listed(keys: Iterable[int]) -> list[int]:
    """Different 64-bit keys in the order of a map into which they were put one after the other.

    A bucket lists its keys as they came. A bucket of more than eight is a tree in a table of 64 or more: its order is not
    known here, and the one given is that of a list. Kafka: ProducerStateManager.producers (since 3.6.0; before, Scala's map).
    """
    buckets: list[list[int]] = [[] for _ in range(_FIRST_CAPACITY)]
    for count, key in enumerate(keys, start=1):
        bucket = buckets[_spread(key) & len(buckets) - 1]
        bucket.append(key)
        if len(bucket) > _MAX_LISTED and len(buckets) < _MIN_TREE_CAPACITY:
            buckets = _doubled(buckets)
        if count > len(buckets) * 3 // 4:
            buckets = _doubled(buckets)
    return [key for bucket in buckets for key in bucket]


def _doubled(buckets: list[list[int]]) -> list[list[int]]:
    doubled: list[list[int]] = [[] for _ in range(2 * len(buckets))]
    for bucket in buckets:
        for key in bucket:
            doubled[_spread(key) & len(doubled) - 1].append(key)
    return doubled


def _spread(key: int) -> int:
    """Kafka's keys as HashMap.hash sees them: Long.hashCode, its upper half mixed into the lower."""
    bits = key & 0xFFFFFFFFFFFFFFFF
    code = (bits ^ bits >> 32) & 0xFFFFFFFF
    return code ^ code >> 16
