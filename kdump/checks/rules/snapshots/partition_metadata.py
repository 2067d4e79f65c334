"""The file `partition.metadata`."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import DIE, IGNORE, OFFLINE, STRAY
from kdump.checks.context import context_in
from kdump.checks.finding import ERROR, INFO, ByteCoverage
from kdump.checks.wording import as_sentence
from kdump.errors import CorruptData
from kdump.formats import partition_metadata, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.partition_facts import PartitionFacts

_FORECASTS = {
    "metadata-empty": DIE,
    "metadata-line-malformed": OFFLINE,
    "metadata-version-unknown": OFFLINE,
    "metadata-id-malformed": DIE,
    "metadata-id-zero": OFFLINE,
}


def check(context: FileContext) -> None:
    """Check one file; each of its bytes is counted once."""
    source = context.source
    data = source.read(0, partition_metadata.MAX_SIZE)
    try:
        version, _ = partition_metadata.read(data)
    except CorruptData as fault:
        context.coverage.add(ByteCoverage.DAMAGED, len(data), batches=1)
        forecast = _FORECASTS[fault.code]
        broker = "does not start with it" if forecast == DIE else "takes the log directory offline"
        message = f"{as_sentence(fault.message)} A broker {broker}."
        context.report("partition-metadata-bad", 0, len(data), message, severity=ERROR, forecast=forecast)
        return
    context.coverage.add(ByteCoverage.INTACT, len(data), batches=1)
    if version:
        message = f"The version is {version}. Brokers of 3.9 and later read it as version 0, 2.8 does not start."
        context.report("partition-metadata-bad", 0, len(data), message, severity=INFO, forecast=IGNORE, expected=0, found=version)


def check_missing(partition: PartitionFacts) -> None:
    """Report a partition without the file if its broker needs one, as KRaft brokers do for all but the metadata's log."""
    name = tree.directory_name(partition.path)
    if partition_metadata.NAME in partition.files.others or not partition.files.logs or name is None or name.is_going:
        return
    if name.topic != tree.METADATA_TOPIC and tree.is_of_kraft(tree.parent(partition.path)):
        message = f"There is no {partition_metadata.NAME}. A KRaft broker renames this directory to -stray"
        severity = ERROR
        if tree.was_never_written(partition.path):
            severity, message = INFO, f"{message}: nothing is lost, for nothing was ever written to it"
        context = context_in(partition, partition_metadata.NAME)
        context.report("partition-metadata-bad", 0, 0, f"{message}.", severity=severity, forecast=STRAY)
