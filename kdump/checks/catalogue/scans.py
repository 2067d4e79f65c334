"""Faults of the tables that `kdump scan` writes: missing or contradictory rows. `kdump check` never reports them."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import IGNORE, FaultKind
from kdump.checks.finding import ERROR, WARNING

_NOT_KAFKA = "nothing: this is about the tables, not about the file"

FAULTS = (
    FaultKind(
        "scan-rows-missing",
        ERROR,
        IGNORE,
        "the tables of the scan lack rows from this file.",
        cause=(
            "the file could not be read, or was removed, truncated or replaced during the scan; or the process that read "
            "it died repeatedly, from lack of memory or a crash in a native codec"
        ),
        kafka=_NOT_KAFKA,
        loss="the rows of this file from the byte in the message on; the rows of all other files are there, exactly once",
        remedy="fix what the message names and scan again; scan a copy if a broker is using the files",
        see=("scan-tables-disagree", "permission-denied", "file-vanished"),
        leaves_unexamined=True,
    ),
    FaultKind(
        "scan-records-unread",
        ERROR,
        IGNORE,
        "records of a batch are missing from the table `records`, because they cannot be decoded.",
        cause="damage inside the batch, or a faulty writer; `kdump check --level deep` names the fault",
        kafka="its tool and consumers fail with an exception when they read these records",
        loss="these records, for everyone who reads the batch; the table `batches` has its row",
        remedy="find out what is wrong with `kdump check --level deep FILE`; compare with another replica",
        see=("scan-rows-missing", "crc-mismatch"),
    ),
    FaultKind(
        "scan-tables-disagree",
        ERROR,
        IGNORE,
        "the tables of the scan contradict each other about this file.",
        cause="something wrote to the file during the scan; or a bug in kdump",
        kafka=_NOT_KAFKA,
        loss="nothing of the file; the tables that the message names are unreliable, and renamed to NAME.incomplete",
        remedy="scan again when nothing writes to the file, or scan a copy; if nothing did, please report it",
        see=("scan-rows-missing",),
        leaves_unexamined=True,
    ),
    FaultKind(
        "scan-not-compared",
        WARNING,
        IGNORE,
        "a replica was not compared with others, because it is of another topic with the same name.",
        cause="a topic that was deleted and created again while this broker was down; or copies of different times",
        kafka="its tool looks at one broker's files; a KRaft broker renames the directory to -stray if it is not the topic's",
        loss="nothing that is of the topic now; what is here is of the other one",
        remedy="compare the ids with that of `kafka-topics.sh --describe`; keep a copy if the records are still wanted",
        see=("partition-metadata-bad", "replica-divergence"),
    ),
)
