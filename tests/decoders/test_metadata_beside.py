"""Whose log directory one beside another is, and which metadata speaks of one."""

from pathlib import Path

import pytest

from kdump.binary import system
from kdump.decoders import cluster_topics, metadata_beside
from kdump.decoders.metadata_beside import OF_BROKER, OF_COPY, OF_OTHER_NODE, PERHAPS_OF_COPY, held_beside, relation, topics_for
from kdump.errors import Unreadable
from kdump.formats import tree
from kdump.formats.meta_properties import MetaProperties
from tests.builders.cluster_metadata import registered, topic, uuid
from tests.builders.records import batch, record
from tests.loops import each

IDS = {"A": "vaCj0ctCQVK4Fl1jHq5Gow", "B": "xuNFeVKBTimjCGKSv9Pz9Q", "C": "fbEk9fWoRRa0gVfRQgJaSA"}


def _properties(of: str) -> MetaProperties:
    """Of `1A`, which is directory A of node 1; `-` stands for nothing."""
    node, directory = (None if one == "-" else one for one in of)
    return MetaProperties(1, "c", None if node is None else int(node), None if directory is None else uuid(IDS[directory]))


def _write_properties(path: Path, cluster: str, node: str, directory: str = "") -> None:
    line = f"directory.id={IDS[directory]}\n" if directory else ""
    (path / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\nnode.id={node}\n{line}")


# Kafka gives each log directory an id of its own since 3.7.0 (KIP-858), and a broker one copy of each partition.
@each(
    ("own", "other", "apart", "shared"),
    [
        ("1A", "2A", OF_OTHER_NODE, OF_OTHER_NODE),
        ("-A", "-A", OF_OTHER_NODE, OF_OTHER_NODE),
        ("1A", "1A", OF_COPY, OF_COPY),
        ("1A", "1B", OF_BROKER, OF_COPY),
        ("1A", "1-", PERHAPS_OF_COPY, OF_COPY),
        ("1-", "1B", PERHAPS_OF_COPY, OF_COPY),
        ("1-", "1-", PERHAPS_OF_COPY, OF_COPY),
    ],
)
def test_directories_are_of_one_broker_only_if_nothing_says_otherwise(own: str, other: str, apart: str, shared: str) -> None:
    found = [relation(_properties(own), _properties(other), shares_partitions=shares) for shares in (False, True)]
    assert found == [apart, shared]


def test_partitions_are_held_in_other_directories_of_the_same_broker(tmp_path: Path) -> None:
    others = {"own": "c 1 A", "same": "c 1 B", "old": "c 1", "node": "c 2", "cluster": "d 1 B"}
    for name, of in others.items():
        (tmp_path / name / f"in-{name}-0").mkdir(parents=True)
        _write_properties(tmp_path / name, *of.split())
    assert held_beside(f"{tmp_path}/own/") == (1, {"in-same-0", "in-old-0"})


@each("code", ["file-io-error", "file-shrank", "file-permission"])
def test_metadata_that_the_system_does_not_give_is_not_taken_for_none(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str) -> list[str]:
        raise Unreadable(code, code, path=path)

    monkeypatch.setattr(system, "names", fail)
    monkeypatch.setattr(tree, "partitions", fail)
    for ask in (cluster_topics.topics_in, topics_for, metadata_beside.listed):
        if code == "file-permission":
            assert not ask("/nowhere")
        else:
            with pytest.raises(Unreadable, match=code):
                ask("/nowhere")


@each(
    ("beside", "registered_of_1", "speaks"),
    [
        (["c 2 B"], "", True),
        (["c 1 B"], "", True),
        (["c 1 B"], "A", True),
        (["c 1 A"], "", False),  # a copy
        (["c 1"], "", False),  # perhaps one
        (["d 2 B"], "", False),
        (["c 1 B"], "B", False),  # 1 has registered other directories only
        (["c 1 B", "c 1 C"], "", False),  # of which one is a copy
        (["c 2 B", "c 3 C"], "", True),
    ],
)
def test_metadata_beside_a_directory_speaks_of_it_unless_that_may_be_another_copy(
    beside: list[str], registered_of_1: str, speaks: bool, tmp_path: Path
) -> None:
    for name, of in enumerate(["c 1 A", *beside]):
        path = tmp_path / str(name)
        path.mkdir(exist_ok=True)
        _write_properties(path, *of.split())
        if name:
            (path / "__cluster_metadata-0").mkdir(exist_ok=True)
            values = [topic("orders", IDS["A"]), *([registered(1, IDS[registered_of_1])] if registered_of_1 else [])]
            log = b"".join(batch(base_offset=offset, records=[record(value=value)]) for offset, value in enumerate(values))
            (path / "__cluster_metadata-0" / f"{0:020}.log").write_bytes(log)
    topics = topics_for(str(tmp_path / "0"))
    assert (topics is not None and list(topics.names.values()) == ["orders"]) == speaks
