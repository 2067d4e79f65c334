"""The file `quorum-state` of the metadata topic."""

from __future__ import annotations

from kdump.checks.finding import ByteCoverage
from kdump.checks.wording import as_sentence
from kdump.errors import CorruptData
from kdump.formats import quorum_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext


def check(context: FileContext) -> None:
    """Check one file; each of its bytes is counted once."""
    data = context.source.read(0, quorum_state.MAX_SIZE)
    try:
        quorum_state.read(data)
    except CorruptData as fault:
        context.coverage.add(ByteCoverage.DAMAGED, len(data), batches=1)
        message = f"{as_sentence(fault.message)} The node does not start with it."
        context.report("quorum-state-bad", 0, len(data), message)
        return
    context.coverage.add(ByteCoverage.INTACT, len(data), batches=1)
