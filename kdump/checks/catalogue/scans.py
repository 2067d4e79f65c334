"""Faults of the tables that `kdump scan` writes: what they lack of the files, or say twice. `kdump check` never reports them."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import IGNORE, FaultKind
from kdump.checks.finding import ERROR

_NOT_KAFKA = "nothing: this is about the tables, not about the file"

FAULTS = (
    FaultKind(
        "scan-rows-missing",
        ERROR,
        IGNORE,
        "tables of the scan lack rows of this file.",
        cause=(
            "the file may not be read, was removed, became shorter or was replaced while the scan ran; or the process that read "
            "it died again and again, of too little memory or of a crash in a native codec"
        ),
        kafka=_NOT_KAFKA,
        loss="the rows of this file, from the byte that is named on; the rows of all other files are there, once",
        remedy="mend what the message names and scan again; scan a copy if a broker works on the files",
        see=("scan-tables-disagree", "permission-denied", "file-vanished"),
        leaves_unexamined=True,
    ),
    FaultKind(
        "scan-records-unread",
        ERROR,
        IGNORE,
        "records of a batch are not in the table `records`, for they do not decode.",
        cause="damage inside the batch, or a writer that made it wrong; `kdump check --level deep` names the fault",
        kafka="its tool ends with an exception when it is asked for these records, and so do consumers",
        loss="these records, for all who read the batch; the table `batches` has its row",
        remedy="kdump check --level deep FILE names what is wrong; compare with another replica",
        see=("scan-rows-missing", "crc-mismatch"),
    ),
    FaultKind(
        "scan-tables-disagree",
        ERROR,
        IGNORE,
        "what the tables of the scan hold of this file does not add up.",
        cause="something wrote to the file while the scan read it; or a fault of kdump",
        kafka=_NOT_KAFKA,
        loss="nothing of the file; the tables that are named cannot be computed with, and are called NAME.incomplete",
        remedy="scan again when nobody writes to the file, or scan a copy; if nobody did, please report it",
        see=("scan-rows-missing",),
        leaves_unexamined=True,
    ),
)
