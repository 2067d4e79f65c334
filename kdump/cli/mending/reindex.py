"""Runs `kdump reindex`."""

from __future__ import annotations

from kdump.cli.mending import command
from kdump.cli.shared_options import settings_of
from kdump.exit_codes import CLEAN, FINDINGS
from kdump.formats.selection import Selection
from kdump.mending.reindex import reindex
from kdump.mending.row import DIFFERENT, MISSING, REBUILT, TO_REMOVE, ReindexSummary
from kdump.output.mending import REINDEX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.mending.command import Made
    from kdump.cli.mending.options import ReindexOptions
    from kdump.mending.progress import Progress
    from kdump.mending.reindex.reindex import Result


def reindex_path(options: ReindexOptions) -> int:
    """Make the new directory, then report its files on stdout. Returns the exit code."""
    only = [word for word in options.only.split(",") if word]
    config = settings_of(options.config)
    selection = Selection.of_texts(options.topics, options.partitions)

    def make(out: str, progress: Progress) -> Made:
        result = reindex.run(
            options.path,
            out,
            only=only,
            config=config,
            without_logs=options.without_logs,
            selection=selection,
            progress=progress,
        )
        return [*result.holes, *result.files], _summary(result, options, out)

    return command.run(REINDEX, options, [options.path], make)


def _summary(result: Result, options: ReindexOptions, out: str) -> ReindexSummary:
    rebuilt = [row for row in result.files if row.action == REBUILT]
    return ReindexSummary.like(
        result,
        path=out,
        rebuilt=len(rebuilt),
        different=sum(row.before == DIFFERENT for row in rebuilt),
        missing=sum(row.before == MISSING for row in rebuilt),
        without_logs=options.without_logs,
        to_remove=sum(row.action == TO_REMOVE for row in result.files),
        partitions_left_out=result.left_out,
        seconds=0.0,
        exit_code=FINDINGS if result.holes else CLEAN,
    )
