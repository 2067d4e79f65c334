"""A batch as the rules for the order of batches see it, and findings about it."""

from __future__ import annotations

from kdump.checks.finding import NONE
from kdump.reading import salvage
from kdump.reading.items import BY_LENGTH
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from kdump.checks.context import Details, FileContext


class Batch(Declared):
    """The position of a batch in the file, its offsets and its leader epoch; `last` is computed without wrapping.

    `stated` is the offset in its header, which is the last one of a wrapper. Where nothing says the first offset of that,
    `is_open`, and `first` is the last as well.
    """

    position: int
    end: int
    first: int
    last: int
    stated: int
    epoch: int
    status: str
    is_open: bool = False


def report_batch(context: FileContext, code: str, batch: Batch, message: str, **details: Unpack[Details]) -> None:
    """Report a fault in the bytes and offsets of a batch."""
    is_damaged = batch.status == salvage.DAMAGED
    context.report(
        code,
        batch.position,
        batch.end,
        message,
        offsets=(batch.first, batch.last),
        resync=BY_LENGTH if is_damaged else NONE,
        skipped=batch.end - batch.position if is_damaged else 0,
        words=(lambda *_: message) if is_damaged else None,
        **details,
    )
