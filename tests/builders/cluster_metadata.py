"""Values of records of __cluster_metadata about topics and brokers, as brokers since 3.0 write them."""

import base64

BEGIN, END, ABORT = b"\1\x17\0\0", b"\1\x18\0\0", b"\1\x19\0\0"
"""Records around a transaction."""


def uuid(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def topic(name: str, topic_id: str) -> bytes:
    return b"\1\2\0" + _small(len(name) + 1) + name.encode() + uuid(topic_id) + b"\0"


def registered(node: int, *directories: str) -> bytes:
    """A RegisterBrokerRecord with the ids of these log directories, as since 3.7."""
    ids = _small(len(directories) + 1) + b"".join(map(uuid, directories))
    no_endpoint = no_feature = _small(1)
    fields = node.to_bytes(4, "big") + b"\0" + bytes(16) + bytes(8) + no_endpoint + no_feature + b"\0\1\0"
    return b"\1\0\3" + fields + b"\1\0" + _small(len(ids)) + ids


def replicas(topic_id: str, partition: int, *nodes: int) -> bytes:
    """A PartitionRecord: all replicas are in sync, and the first leads."""
    numbers = _small(len(nodes) + 1) + b"".join(node.to_bytes(4, "big") for node in nodes)
    nobody = _small(1)
    leader_and_epochs = b"".join(number.to_bytes(4, "big") for number in (nodes[0], 0, 0))
    lists = numbers + numbers + nobody + nobody
    return b"\1\3\0" + partition.to_bytes(4, "big") + uuid(topic_id) + lists + leader_and_epochs + b"\0"


def moved(topic_id: str, partition: int, *nodes: int) -> bytes:
    """A PartitionChangeRecord: to these replicas, if there are any, or of nothing we look at."""
    numbers = _small(len(nodes) + 1) + b"".join(node.to_bytes(4, "big") for node in nodes)
    tagged = b"\1\2" + _small(len(numbers)) + numbers if nodes else b"\0"
    return b"\1\5\0" + partition.to_bytes(4, "big") + uuid(topic_id) + tagged


def removed(topic_id: str) -> bytes:
    return b"\1\x09\0" + uuid(topic_id) + b"\0"


def config(topic: str, name: str, value: str | None) -> bytes:
    """A ConfigRecord of a topic; without a value, it takes the config back."""
    text = _small(0) if value is None else _small(len(value) + 1) + value.encode()
    return b"\1\4\0\2" + _small(len(topic) + 1) + topic.encode() + _small(len(name) + 1) + name.encode() + text + b"\0"


def _small(number: int) -> bytes:
    assert 0 <= number < 0x80
    return bytes([number])
