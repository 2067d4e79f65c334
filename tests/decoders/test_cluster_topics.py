"""The topics of a cluster, from the log and the snapshots of __cluster_metadata."""

import copy
import os
import random
from pathlib import Path
from typing import Any

from kdump.decoders.cluster_topics import Topics, topics_in
from kdump.decoders.metadata_beside import topics_for
from tests.builders.cluster_metadata import ABORT, BEGIN, END, config, moved, removed, replicas, topic, uuid
from tests.builders.files import partition_metadata
from tests.builders.records import TIMESTAMP, batch, record, snapshot_footer_record, snapshot_header_record
from tests.loops import each

ORDERS, PAYMENTS, SALES = "vaCj0ctCQVK4Fl1jHq5Gow", "xuNFeVKBTimjCGKSv9Pz9Q", "fbEk9fWoRRa0gVfRQgJaSA"
NO_OP = b"\1\x14\0\0"


def _metadata(folder: Path) -> Path:
    path = folder / "__cluster_metadata-0"
    path.mkdir()
    (path / "partition.metadata").write_bytes(partition_metadata())
    return path


def _log(path: Path, base_offset: int, *values: bytes) -> Path:
    file = path / f"{base_offset:020}.log"
    batches = [batch(base_offset=base_offset + row, records=[record(value=value)]) for row, value in enumerate(values)]
    file.write_bytes(b"".join(batches))
    return file


def _snapshot(path: Path, end_offset: int, *values: bytes) -> None:
    header = batch(records=[snapshot_header_record()], is_control=True)
    footer = batch(base_offset=1 + len(values), records=[snapshot_footer_record()], is_control=True)
    data = batch(base_offset=1, records=[record(value=value) for value in values]) if values else b""
    (path / f"{end_offset:020}-0000000001.checkpoint").write_bytes(header + data + footer)


def _told(topics: Topics | None) -> dict[str, dict[int, list[int]]]:
    assert topics is not None
    return {
        name: {partition: nodes for (other, partition), nodes in topics.replicas.items() if other == topic_id}
        for topic_id, name in topics.names.items()
    }


def test_records_are_replayed_in_order(tmp_path: Path) -> None:
    values = [topic("orders", ORDERS), NO_OP, replicas(ORDERS, 0, 1, 2), replicas(ORDERS, 1, 2), moved(ORDERS, 0, 3)]
    _log(_metadata(tmp_path), 0, *values, moved(ORDERS, 0), topic("sales", SALES), replicas(SALES, 0, 1), removed(SALES))
    topics = topics_in(str(tmp_path))
    assert _told(topics) == {"orders": {0: [3], 1: [2]}}
    assert topics is not None
    assert (topics.id_of("orders"), topics.id_of("sales")) == (uuid(ORDERS), None)
    assert (topics.last_offset, topics.timestamp, topics.path) == (8, TIMESTAMP, str(tmp_path / "__cluster_metadata-0"))


def test_the_newest_snapshot_stands_for_all_before_its_end(tmp_path: Path) -> None:
    path = _metadata(tmp_path)
    _snapshot(path, 2, topic("sales", SALES))
    _snapshot(path, 5, topic("orders", ORDERS), replicas(ORDERS, 0, 1))
    log = _log(path, 3, topic("payments", PAYMENTS), removed(ORDERS), topic("sales", SALES))
    (path / f"{3:020}.index").write_bytes(b"no log")
    assert _told(topics_in(str(tmp_path))) == {"orders": {0: [1]}, "sales": {}}
    _snapshot(path, 6)  # of a cluster without topics
    log.unlink()
    assert topics_in(str(tmp_path)) is None
    _log(path, 6)
    topics = topics_in(str(tmp_path))
    assert topics is not None and (topics.names, topics.last_offset, topics.timestamp) == ({}, 5, -1)


def test_records_of_an_aborted_transaction_do_not_count(tmp_path: Path) -> None:
    aborted = (BEGIN, topic("sales", SALES), removed(ORDERS), ABORT)
    _log(_metadata(tmp_path), 0, BEGIN, topic("orders", ORDERS), END, *aborted, topic("payments", PAYMENTS))
    assert _told(topics_in(str(tmp_path))) == {"orders": {}, "payments": {}}


def test_metadata_that_is_not_whole_says_nothing(tmp_path: Path) -> None:
    assert topics_in(str(tmp_path)) is None
    path = _metadata(tmp_path)
    assert topics_in(str(tmp_path)) is None
    file = _log(path, 5, topic("orders", ORDERS))  # earlier records are missing
    assert topics_in(str(tmp_path)) is None
    file.unlink()
    file = _log(path, 0, topic("orders", ORDERS), topic("sales", SALES))
    data = file.read_bytes()
    assert _told(topics_in(str(tmp_path))) == {"orders": {}, "sales": {}}
    for at in (17, len(data) - 1):  # in a checksum, and in a record
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert topics_in(str(tmp_path)) is None, at
    file.write_bytes(data)
    _log(path, 3, topic("payments", PAYMENTS)).rename(path / f"{2:020}.log")
    assert topics_in(str(tmp_path)) is None, "offset 2 is in no file"
    (path / f"{2:020}.log").unlink()
    _log(path, 0, topic("orders", ORDERS)[:-1])  # a record that ends early
    assert topics_in(str(tmp_path)) is None
    file.unlink()
    _log(path, 5, topic("orders", ORDERS))
    _snapshot(path, 4, topic("sales", SALES))
    assert topics_in(str(tmp_path)) is None, "offset 4 is in no file"
    _log(path, 4, topic("orders", ORDERS))
    snapshot = path / f"{4:020}-0000000001.checkpoint"
    whole, header = snapshot.read_bytes(), len(batch(records=[snapshot_header_record()], is_control=True))
    for end, is_whole in ((0, False), (header, False), (-1, False), (len(whole), True)):
        snapshot.write_bytes(whole[:end])
        assert (topics_in(str(tmp_path)) is not None) == is_whole, end


def test_metadata_that_has_changed_is_read_again(tmp_path: Path) -> None:
    file = _log(_metadata(tmp_path), 0, topic("orders", ORDERS))
    assert _told(topics_for(str(tmp_path))) == {"orders": {}}
    _log(file.parent, 0, topic("others", ORDERS))  # in the same file, of the same size
    os.utime(file, (1, 1))
    assert _told(topics_for(str(tmp_path))) == {"others": {}}


IDS = {"orders": ORDERS, "payments": PAYMENTS, "sales": SALES}


def _change(chance: random.Random, now: dict[str, Any]) -> bytes:
    """A record about a topic, and what it makes of the topics that are there by now: plain dicts and a set."""
    name, partition, nodes = chance.choice(list(IDS)), chance.randrange(2), chance.sample([1, 2, 3], 2)
    key, kind = (uuid(IDS[name]), partition), chance.choice(["topic", "replicas", "moved", "kept", "removed", "config", "config"])
    if kind == "topic":
        now["names"][uuid(IDS[name])] = name
        return topic(name, IDS[name])
    if kind in ("replicas", "moved"):
        now["replicas"][key] = nodes
        return replicas(IDS[name], partition, *nodes) if kind == "replicas" else moved(IDS[name], partition, *nodes)
    if kind == "kept":
        return moved(IDS[name], partition)
    if kind == "removed":
        now["replicas"] = {other: of for other, of in now["replicas"].items() if other[0] != key[0]}
        if now["names"].pop(key[0], None):
            now["configs"].pop(name, None)
            now["compacted"].discard(name)
        return removed(IDS[name])
    option = chance.choice(["cleanup.policy", "remote.storage.enable"])
    value = chance.choice(["compact", "delete", "compact,delete", None] if option == "cleanup.policy" else ["true", None])
    now["configs"].setdefault(name, {})[option] = value
    if "compact" in (value or ""):
        now["compacted"].add(name)
    return config(name, option, value)


@each("seed", range(40))
def test_any_records_are_replayed_as_in_plain_dicts(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    now: dict[str, Any] = {"names": {}, "replicas": {}, "configs": {}, "compacted": set()}
    values: list[bytes] = []
    for _ in range(8):
        before, is_aborted = copy.deepcopy(now), chance.random() < 0.4
        changes = [_change(chance, now) for _ in range(chance.randrange(1, 5))]
        values += [BEGIN, *changes, ABORT if is_aborted else END] if is_aborted or chance.random() < 0.5 else changes
        now = before if is_aborted else now
    (tmp_path / str(seed)).mkdir()
    _log(_metadata(tmp_path / str(seed)), 0, *values)
    topics = topics_in(str(tmp_path / str(seed)))
    assert topics is not None
    assert (topics.names, topics.replicas, topics.were_compacted) == (now["names"], now["replicas"], now["compacted"])
    configs = {name: {key: value for key, value in of.items() if value is not None} for name, of in now["configs"].items()}
    assert {name: of for name, of in topics.configs.items() if of} == {name: of for name, of in configs.items() if of}
