"""What puts a file `partition.metadata` in order that keeps a broker from starting."""

from __future__ import annotations

import os

from kdump.errors import Unreadable
from kdump.formats import tree
from kdump.formats.partition_metadata import topic_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.output.text.steps import Steps


def add_topic_id(steps: Steps, path: str) -> None:
    """Add what replaces this file: a copy of one of the same topic, beside it or from elsewhere."""
    other = _of_same_topic(path)
    if other is not None:
        steps.put_in_place(other, path, "it is the same for all partitions of a topic")
    else:
        steps.note(f"with the broker stopped: copy {path} from another replica, or from another partition of the topic")


def _of_same_topic(path: str) -> str | None:
    """A sound partition.metadata of another partition of the topic, beside this one."""
    directory = os.path.dirname(path) or os.curdir
    name = tree.directory_name(directory)
    if name is None:
        return None
    try:
        for other in tree.partitions(tree.parent(directory)):
            found = tree.directory_name(other)
            if found is None or found.topic != name.topic or found.is_going or topic_id_of(other) is None:
                continue
            if os.path.basename(other) != os.path.basename(directory):
                return os.path.join(other, tree.PARTITION_METADATA)
    except Unreadable:
        return None
    return None
