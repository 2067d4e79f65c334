"""`kdump.triage`: what is wrong with a broker, with the commands to type."""

from __future__ import annotations

import os

from kdump.output.triage import add_commands
from kdump.overview.row import AUTO
from kdump.overview.triage import triage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.overview.triage import Triage


def triage(path: str | os.PathLike[str], *others: str | os.PathLike[str], level: str = AUTO) -> Triage:
    """What is wrong with log directories, partitions and files: `events`, the worst first, a `verdict` and an `exit_code`.

    `level` is `auto` (everything if it is little, else headers), `headers` (checkpoints, some headers, and what a start scans),
    or one of `kdump.check`; that of the result is what was read. Each event has `commands`.
    Nothing is printed or written, and what cannot be read is in the verdict. All is done in this process. Raises UsageError for
    another level.
    """
    found = triage_of([os.fspath(one) for one in (path, *others)], level)
    add_commands(found)
    return found
