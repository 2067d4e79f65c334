"""The reports at the end of a run: pairs of numbers by file, in the order of the hash map that a release uses."""

from __future__ import annotations

from functools import partial
from itertools import islice

from kdump.binary.java_strings import hash_code
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from kdump.output.kafka.complaints import Complaints, Pairs
    from kdump.releases.profile import Profile

    Key = TypeVar("Key")

_CAPACITY = 16
_LINES = 1 << 12  # that are made together


def lines(profile: Profile, complaints: Complaints) -> Iterator[str]:
    """The lines of the reports on all mismatches of a run, many of them together."""
    for kind, line in history.REPORT_LINES.items():
        for path in ordered(profile.report_order, complaints.paths(kind)):
            yield profile.report_titles[kind].format(path=path) + "\n"
            pattern = line.format("%d", "%d") + "\n"
            pairs = _arranged(profile, kind, complaints.pairs(kind, path))
            while text := "".join(map(pattern.__mod__, islice(pairs, _LINES))):
                yield text


def ordered(order: str, keys: list[str]) -> list[str]:
    """Distinct keys in the order of a hash map: "java", "scala-2.13", "scala-2.11"."""
    return _ORDERS[order](keys)


def _arranged(profile: Profile, kind: str, pairs: Pairs) -> Iterator[tuple[int, int]]:
    if kind not in (history.MISMATCHES, history.NON_CONSECUTIVE):
        return iter(pairs)
    if profile.report_pairs == "reverse":
        return reversed(pairs)
    return pairs.by_first(descending=kind == history.MISMATCHES)


def _java(paths: list[str]) -> list[str]:
    """java.util.HashMap, filled by computeIfAbsent: before each call it may grow; a new key comes first in its bucket."""
    buckets: list[list[str]] = [[] for _ in range(_CAPACITY)]
    size = 0
    for path in paths:
        if size > 0.75 * len(buckets):
            grown: list[list[str]] = [[] for _ in range(2 * len(buckets))]
            for key in (key for bucket in buckets for key in bucket):
                grown[_spread_hash(key) & len(grown) - 1].append(key)
            buckets = grown
        bucket = buckets[_spread_hash(path) & len(buckets) - 1]
        if path not in bucket:
            bucket.insert(0, path)
            size += 1
    return [key for bucket in buckets for key in bucket]


def _spread_hash(key: str) -> int:
    code = hash_code(key)
    return code ^ code >> 16


def scala_2_13(keys: list[Key], hash_of: Callable[[Key], int]) -> list[Key]:
    """scala.collection.mutable.HashMap and HashSet of 2.13: buckets ascending, inside a bucket by hash."""
    distinct = dict.fromkeys(keys)
    capacity = _CAPACITY
    while len(distinct) >= 0.75 * capacity:
        capacity *= 2

    def place(key: Key) -> tuple[int, int]:
        code = hash_of(key)
        spread = code ^ code >> 16
        return spread & capacity - 1, spread - (1 << 32) if spread >> 31 else spread

    return sorted(distinct, key=place)


def _scala_2_11(paths: list[str]) -> list[str]:
    """scala.collection.mutable.HashMap of 2.10 and 2.11: the upper bits of a scrambled hash, the last bucket first."""
    buckets: list[list[str]] = [[] for _ in range(_CAPACITY)]
    size = 0
    for path in paths:
        bucket = buckets[_scrambled_hash(path, len(buckets))]
        if path in bucket:
            continue
        bucket.insert(0, path)
        size += 1
        if size > 0.75 * len(buckets):
            grown: list[list[str]] = [[] for _ in range(2 * len(buckets))]
            for key in (key for bucket in reversed(buckets) for key in bucket):
                grown[_scrambled_hash(key, len(grown))].insert(0, key)
            buckets = grown
    return [key for bucket in reversed(buckets) for key in bucket]


def _scrambled_hash(key: str, capacity: int) -> int:
    scrambled = hash_code(key) * 0x9E3775CD & 0xFFFFFFFF
    scrambled = int.from_bytes(scrambled.to_bytes(4, "big"), "little") * 0x9E3775CD & 0xFFFFFFFF
    rotated = scrambled >> 4 | scrambled << 28 & 0xFFFFFFFF
    return rotated >> 32 - capacity.bit_length() + 1


_ORDERS: dict[str, Callable[[list[str]], list[str]]] = {
    "java": _java,
    "scala-2.13": partial(scala_2_13, hash_of=hash_code),
    "scala-2.11": _scala_2_11,
}
