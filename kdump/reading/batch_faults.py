"""What is wrong with batches and messages that a walk found damaged, in the words in which all say it."""

from __future__ import annotations

from kdump.binary.batch_header import LOG_OVERHEAD
from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.formats.record import RecordChunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Table

WRONG_CRC = "the CRC of a record batch does not match"


def of_batch(batches: Table[RecordBatch], row: int) -> CorruptData:
    """The fault of a damaged batch, at its position."""
    code, message = "crc-mismatch", WRONG_CRC
    if batches["isvalid"][row]:
        code, message = "bad-magic", f"a record batch of unknown magic {batches['magic'][row]}"
    return CorruptData(code, message, position=batches["position"][row])


def of_length(batches: Table[RecordBatch], row: int, claimed_length: int) -> CorruptData:
    """The fault of a batch in which only the length is wrong, at its position."""
    fitting = batches["size"][row] - LOG_OVERHEAD
    message = f"a record batch says it is {claimed_length} bytes long; its CRC matches with {fitting}"
    return CorruptData("batch-length-mismatch", message, position=batches["position"][row])


def of_messages(part: RecordChunk) -> dict[int, CorruptData]:
    """The faults of single messages of magic 0 and 1, by their rows; records of magic 2 have no CRC of their own."""
    if not part.magics:
        return {}
    found = {}
    for row, (offset, is_valid) in enumerate(zip(part.records["offset"], part.records["isvalid"], strict=True)):
        fault = next(iter(part.faults.get(row, {}).values()), None)
        if fault is None and is_valid is not False:
            continue
        code, wrong = ("crc-mismatch", "its CRC does not match") if fault is None else (fault.code, fault.message)
        found[row] = CorruptData(code, f"message with offset {offset}: {wrong}")
    return found
