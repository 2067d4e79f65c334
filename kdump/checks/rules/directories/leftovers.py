"""Files that a broker leaves while it replaces or deletes segments: `.cleaned`, `.swap`, `.deleted`."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import IGNORE
from kdump.checks.context import context_in
from kdump.checks.wording import offset_range
from kdump.formats import file_name
from kdump.formats.file_name import CLEANED, DELETED, SWAP
from kdump.formats.tree import base_offset_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.partition_facts import PartitionFacts

_LOG_SWAP = file_name.LOG + SWAP


def check(partition: PartitionFacts) -> None:
    """Report each kind of leftover once, with what a restart does with it."""
    cleaned, swaps, deleted = (_names(partition, suffix) for suffix in (CLEANED, SWAP, DELETED))
    if deleted:
        message = f"{_some(deleted)} about to be deleted. A restart deletes what is left."
        context_in(partition, _first(deleted)).report("leftover-deleted", 0, 0, message)
    if cleaned:
        message = f"{_some(cleaned)} left by an unfinished cleaning. A restart deletes what it wrote; the original segments stay."
        context_in(partition, _first(cleaned)).report("leftover-cleaned", 0, 0, message)
    if swaps:
        message = f"{_some(swaps)} about to replace others. {_forecast(partition, swaps)}"
        goes_in = any(name.endswith(_LOG_SWAP) and base_offset_of(name) is not None for name in swaps)
        context_in(partition, _first(swaps)).report("leftover-swap", 0, 0, message, forecast=None if goes_in else IGNORE)


def _names(partition: PartitionFacts, suffix: str) -> list[str]:
    """Files of segments with one more suffix, without those of KRaft's snapshots."""
    return [name for name in partition.files.others if file_name.is_leftover(name, suffix)]


def _first(names: list[str]) -> str:
    """The first log among them, or the first file if there is none."""
    return next((name for name in names if f"{file_name.LOG}." in name), names[0])


def _some(names: list[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} is"
    return (
        f"{len(names):,} files with the suffix {file_name.suffix(names[0])}, from base offset {file_name.stem(names[0])} on, are"
    )


def _forecast(partition: PartitionFacts, swaps: list[str]) -> str:
    """What a restart does: which files it renames, and which segments it deletes because the new ones cover their offsets."""
    bases = {base for name in swaps if (base := base_offset_of(name)) is not None}
    if not bases:
        return "A restart fails on their names, which contain no number."
    cleaned_from = partition.cleaned_from
    kept = {base for base in bases if cleaned_from is None or base < cleaned_from}
    texts = []
    if kept != bases:
        texts.append(
            f"A restart deletes those from base offset {cleaned_from:,} on, because there are .cleaned files beside them."
        )
    new = partition.put_in_place
    if not kept:
        return texts[0]
    if not new:
        texts.append("A restart renames them, and deletes no segment, because no log is among them.")
        return " ".join(texts)
    start = min(new)
    end = max(base if facts.last_offset is None else facts.last_offset + 1 for base, facts in new.items())
    old = [f"{base:020d}.log" for base in partition.files.logs if start <= base < end]
    text = "A restart puts them in place without reading them"
    if start < end:
        text += f", for {offset_range(start, end - 1)}"
    if old:
        shown = ", ".join(old[:3]) + (f" and {len(old) - 3:,} more" if len(old) > 3 else "")
        text += f", and deletes {shown}"
    texts.append(text + ".")
    if any(facts.is_damaged for facts in new.values()):
        texts.append("The new log is damaged: keep a copy of the old segments.")
    return " ".join(texts)
