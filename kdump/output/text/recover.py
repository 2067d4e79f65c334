"""What `kdump recover` made, as a report for people: what was left out or put right, the holes, then the sums."""

from __future__ import annotations

from kdump.checks.rules.directories.missing_partitions import CODE as MISSING
from kdump.checks.wording import byte_range, counted, offset_range
from kdump.formats import tree
from kdump.mending.recover.damaged_partition import DELETED
from kdump.mending.row import Dropped, Hole, LostRecord, RecoverSummary, Rewritten
from kdump.output.text.answer import write_answer
from kdump.output.text.mend_report import COMPLETE, VERIFIED, MendReport
from kdump.output.text.sizes import size_text
from kdump.output.text.steps import Steps, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.tables import Row

_MOST_OF_KEY = 80
_MOST_RECORDS = 10


class RecoverReport(MendReport):
    """Writes a few lines for each thing that was left out or put right."""

    all_in = "ndjson"
    _records = 0
    _deleted = _deleted_bytes = 0  # segments that are marked as deleted
    _empty = 0  # files that no broker reads
    _missing = 0  # partitions without a directory
    _assumed = 0  # batches of which an offset is assumed

    def row(self, row: Row) -> None:
        if isinstance(row, Dropped) and row.code == DELETED:
            self._deleted += 1
            self._deleted_bytes += row.bytes
        self._missing += isinstance(row, Dropped) and row.code == MISSING
        self._empty += isinstance(row, Dropped) and row.is_lost and not row.bytes
        self._assumed += isinstance(row, Rewritten) and row.is_assumed
        if isinstance(row, LostRecord):
            self._records += 1
            if self._records > _MOST_RECORDS:
                return
        if not isinstance(row, Dropped | LostRecord | Hole | Rewritten) or not self._shows_next():
            return
        if isinstance(row, Dropped):
            word = "lost" if row.is_lost else "left out"
            where, offsets = "", ""
            if row.end > row.start:
                where = f", {byte_range(row.start, row.end)}"
            if row.offset_first is not None and row.offset_last is not None:
                offsets = f", {offset_range(row.offset_first, row.offset_last)}"
            code = f" ({row.code})" if row.code else ""
            self._entry(word, f"{row.source}{where}{offsets}", f"{row.reason}{code}")
        elif isinstance(row, LostRecord):
            key = "no key" if row.key is None else f"key {row.key[:_MOST_OF_KEY].decode('utf-8', 'backslashreplace')}"
            self._entry(
                "record", f"offset {row.offset:,}", f"{key}, of the lost batch at byte {row.start:,}, as far as it decodes"
            )
        elif isinstance(row, Hole):
            self._hole(row)
        else:
            what = f"{row.source}, byte {row.start:,}, {offset_range(row.offset_first, row.offset_last)}"
            self._entry("rewritten", what, row.reason)

    def _next(self, summary: RecoverSummary) -> None:
        """How the new directory gets to the place of the old one."""
        steps = Steps()
        steps.look(f"kdump check {shell_word(summary.path)}", "what is in it")
        if summary.bytes_lost or summary.holes:
            steps.note("has another replica what is lost here? The same with --merge REPLICA and another -o fills holes from it")
            steps.note("or let a healthy replica lead, and move this one away: it is replicated again, as a whole")
        name = tree.directory_name(summary.replaces) if summary.replaces else None
        if name is not None and name.is_going:
            steps.note(
                f"a broker serves it as {name.topic}-{name.partition}, if there is such a topic: create it if it was deleted,"
            )
            steps.note("then, with the broker stopped, put the .log files in the place of those of its new, empty directory")
        elif summary.replaces and self._deleted and not summary.batches:
            steps.undelete(summary.replaces, "with their names back, segments that were marked as deleted can be recovered")
        elif summary.replaces and summary.holes and tree.is_metadata_log(summary.replaces):
            steps.note("not to be put into its place where another controller has a whole copy of the log: what a node makes of")
            steps.note("metadata after a hole cannot be told")
        elif summary.replaces:
            steps.replace(summary.replaces, summary.path, "the new directory takes its place, and has its owner")
        else:
            steps.note("each new directory takes the place of the old one, under the same name, with the broker stopped")
            steps.note("first move the old one out of the log directory; then give the new one its owner (chown -R)")
        if summary.holes and not (summary.replaces and tree.is_metadata_log(summary.replaces)):
            steps.after_all(
                "then start. Followers keep what they have, and fetch only from their ends on: holes stay as they are"
            )
        self._out.line()
        self._out.line("Next")
        steps.write(self._out)

    def sums(self, summary: Row) -> None:
        assert isinstance(summary, RecoverSummary)
        partitions = counted(summary.partitions, "partition")
        segments = counted(summary.segments, "segment")
        batches = counted(summary.batches, "batch", "batches")
        records = counted(summary.records, "record")
        self._out.wrapped(f"{partitions}, {segments}, {size_text(summary.bytes)}, {batches}, {records}. {summary.seconds:.1f} s.")
        self._left_out(summary.partitions_left_out)
        lost = [size_text(summary.bytes_lost)] if summary.bytes_lost else []
        missing = f"{'at least ' if summary.are_more_missing else ''}{counted(summary.offsets_missing, 'offset')}"
        if summary.holes:
            lost.append(f"{missing} in {counted(summary.holes, 'hole')}")
        if self._empty:
            lost.append(counted(self._empty, "empty file"))
        if lost:
            self._out.wrapped(f"Lost: {'; '.join(lost)}.")
        elif not summary.remaining_errors:
            self._out.wrapped(
                "Nothing is lost but what is marked as deleted." if self._deleted else "Nothing is lost of what was there."
            )
        if self._records > _MOST_RECORDS:
            self._out.wrapped(f"{self._records:,} records decode in what is lost: --output {self.all_in} lists their keys.")
        if summary.remaining_errors:
            errors = counted(summary.remaining_errors, "error")
            what = "it" if summary.remaining_errors == 1 else "them"
            self._out.wrapped(f"What was taken over as it is has {errors}: kdump check lists {what}.")
        self._next(summary)
        what = COMPLETE if summary.remaining_errors else VERIFIED
        if self._deleted:
            deleted = f"{counted(self._deleted, 'segment')} marked as deleted ({size_text(self._deleted_bytes)})"
            what = f"{'Made' if summary.remaining_errors else 'Verified'}, without {deleted}"
        but = [f"{missing} missing"] if summary.holes else []
        but += [f"{size_text(summary.bytes_lost)} lost"] if summary.bytes_lost else []
        but += [f"{counted(self._empty, 'empty file')} left out"] if self._empty else []
        but += [f"{counted(self._missing, 'partition')} not there"] if self._missing else []
        but += [f"{counted(self._assumed, 'offset')} assumed"] if self._assumed else []
        but += [f"{counted(summary.remaining_errors, 'error')} left"] if summary.remaining_errors else []
        text = f"{what}{', but ' if but else ''}{', '.join(but)}: {summary.path}. Exit status {summary.exit_code}."
        write_answer(self._out, text, f"kdump check {shell_word(summary.path)}")
