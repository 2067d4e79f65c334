"""The iteration order of Scala's sets of topic partitions."""

from __future__ import annotations

from functools import partial

from kdump.binary.java_strings import hash_code
from kdump.output.kafka import reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Partition = tuple[str, int]
    """A topic and a partition of it."""

_MASK = 0xFFFFFFFF


def scala_2_11(partitions: list[Partition]) -> list[Partition]:
    """scala.collection.mutable.HashSet of 2.11: one table, in which what collides goes to the next free place."""
    table: list[Partition | None] = [None] * 32
    for partition in partitions:
        if _added(table, partition) and sum(item is not None for item in table) >= len(table) * 450 // 1000:
            grown: list[Partition | None] = [None] * (2 * len(table))
            for item in table:
                if item is not None:
                    _added(grown, item)
            table = grown
    return [item for item in table if item is not None]


def _added(table: list[Partition | None], partition: Partition) -> bool:
    bits = len(table).bit_length() - 1
    scrambled = _hash(partition) * 0x9E3775CD & _MASK
    scrambled = int.from_bytes(scrambled.to_bytes(4, "big"), "little") * 0x9E3775CD & _MASK
    rotated = (scrambled >> bits | scrambled << 32 - bits) & _MASK
    place = rotated >> 32 - bits
    while table[place] is not None:
        if table[place] == partition:
            return False
        place = (place + 1) % len(table)
    table[place] = partition
    return True


def _hash(partition: Partition) -> int:
    """TopicPartition.hashCode, as 32 bits unsigned."""
    topic, number = partition
    return (31 * (31 + number) + hash_code(topic)) & _MASK


ORDERS: dict[str, Callable[[list[Partition]], list[Partition]]] = {
    "scala-2.11": scala_2_11,
    "scala-2.13": partial(reports.scala_2_13, hash_of=_hash),
}
