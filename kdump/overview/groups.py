"""The groups in a partition of `__consumer_offsets`, by the last records that are about them."""

from __future__ import annotations

from kdump.decoders import coordinator
from kdump.errors import CorruptData
from kdump.messages.consumer_offsets import RECORDS
from kdump.overview.row import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOPIC = "__consumer_offsets"
CLASSIC, CONSUMER, SHARE, STREAMS = "classic", "consumer", "share", "streams"
STABLE, REBALANCING, EMPTY, WITH_MEMBERS, OFFSETS_ONLY = "stable", "rebalancing", "empty", "with-members", "offsets-only"
STATES = (STABLE, WITH_MEMBERS, REBALANCING, EMPTY, OFFSETS_ONLY)

_COMMITS, _CLASSIC = (0, 1), 2
_TYPES = {3: CONSUMER, 11: SHARE, 17: STREAMS}
_MEMBERS = (5, 10, 19)


class _State:
    """What is known of one group."""

    def __init__(self) -> None:
        self.type = ""
        self.state = OFFSETS_ONLY
        self.members: set[str] = set()
        self.committed: set[tuple[str, int]] = set()


class Groups:
    """Follows the records of one partition, in the order of their offsets."""

    def __init__(self) -> None:
        self._groups: dict[str, _State] = {}
        self._keys = coordinator.Keys(RECORDS)

    def take(self, keys: Iterable[bytes | None], values: Iterable[bytes | None]) -> None:
        """Follow the next records. Those that cannot be decoded are passed over: a check reports them."""
        for key, value in zip(keys, values, strict=True):
            if key is not None:
                try:
                    self._take(self._keys.read(key), value)
                except CorruptData:
                    continue

    def _take(self, record: coordinator.CoordinatorRecord, value: bytes | None) -> None:
        key = record.key
        name = str(key.get("group") or key.get("groupId") or "")
        group = self._groups.setdefault(name, _State())
        if record.type in _COMMITS:
            partition = str(key["topic"]), int(str(key["partition"]))
            (group.committed.discard if value is None else group.committed.add)(partition)
        elif record.type == _CLASSIC:
            self._take_classic(group, record, value)
        elif record.type in _TYPES:
            group.type = "" if value is None else _TYPES[record.type]
        elif record.type in _MEMBERS:
            (group.members.discard if value is None else group.members.add)(str(key["memberId"]))

    def _take_classic(self, group: _State, record: coordinator.CoordinatorRecord, value: bytes | None) -> None:
        if value is None:
            group.type, group.state, group.members = "", OFFSETS_ONLY, set()
            return
        _, fields = coordinator.read_value(record, value)
        members = fields["members"]
        found = (
            {str(member["memberId"]) for member in members if isinstance(member, dict)} if isinstance(members, list) else set()
        )
        group.type, group.members = CLASSIC, found
        group.state = EMPTY if not found else REBALANCING if fields["protocol"] is None else STABLE

    def rows(self, path: str) -> Iterator[Group]:
        """The groups that are left, by name."""
        for name, group in sorted(self._groups.items()):
            state = group.state
            if group.type not in ("", CLASSIC):
                state = WITH_MEMBERS if group.members else EMPTY
            if group.type or group.committed:
                yield Group(path, name, group.type or CLASSIC, state, len(group.members), len(group.committed))
