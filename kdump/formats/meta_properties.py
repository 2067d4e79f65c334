"""The file `meta.properties`: the cluster, broker and directory ids of a log directory.

    version=1
    cluster.id=MkU3OEVBNTcwNTJENDM2Qg
    node.id=1
    directory.id=NrglXNcJRLDQ0m7HIWSVLg

Version 0 has a `broker.id` instead of the `node.id`; both it and the `cluster.id` may be missing. A missing version means 0.

Kafka: MetaProperties, MetaPropertiesVersion (since 3.7), RawMetaProperties (2.8).
"""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.formats import file_name, partition_metadata
from kdump.tables import Declared

_NODE_IDS = ("broker.id", "node.id")  # by version
_RESERVED_IDS = 100


class MetaProperties(Declared):
    """The properties of the file; None for a missing one."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: bytes | None

    @property
    def has_reserved_directory_id(self) -> bool:
        """Whether the directory id is one that Kafka reserves."""
        return self.directory_id is not None and int.from_bytes(self.directory_id, "big") < _RESERVED_IDS


def of(values: dict[str, str]) -> MetaProperties:
    """The meaning of the properties of a file.

    Raises CorruptData with the codes `meta-version-unknown`, `meta-id-missing`, `meta-node-id-malformed` and
    `meta-directory-id-malformed`.
    """
    version = values.get("version", "0")
    if version not in ("0", "1"):
        raise CorruptData("meta-version-unknown", f"its version is {version[:20]!r}, neither 0 nor 1")
    name = _NODE_IDS[int(version)]
    cluster_id, node_id = values.get("cluster.id"), values.get(name)
    if version == "1":
        for missing in [wanted for wanted in ("cluster.id", name) if wanted not in values]:
            raise CorruptData("meta-id-missing", f"there is no {missing} in it")
    try:
        number = None if node_id is None else file_name.parse_number(node_id, 32)
    except CorruptData:
        raise CorruptData("meta-node-id-malformed", f"its {name} is {node_id!r:.20}, not a number") from None
    directory_id = values.get("directory.id")
    try:
        uuid = None if directory_id is None else partition_metadata.uuid_of(directory_id.encode())
    except CorruptData:
        raise CorruptData("meta-directory-id-malformed", "its directory.id is not a base64 UUID") from None
    return MetaProperties(int(version), cluster_id, number, uuid)
