"""Runs `kdump redact`."""

from __future__ import annotations

from kdump.cli.mending import command
from kdump.cli.shared_options import range_of
from kdump.exit_codes import CLEAN, FINDINGS
from kdump.mending.redact import redact
from kdump.mending.redact.contents import HEADERS, KEYS, PARTS, VALUES
from kdump.mending.row import REDACTED, RedactSummary
from kdump.output.mending import REDACT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.mending.command import Made
    from kdump.cli.mending.options import RedactOptions
    from kdump.mending.progress import Progress
    from kdump.mending.redact.redact import Result


def redact_path(options: RedactOptions) -> int:
    """Make the new directory, then report its files on stdout. Returns the exit code."""
    chosen = ((VALUES, options.redacts_values), (KEYS, options.redacts_keys), (HEADERS, options.redacts_headers))
    parts = [part for part, is_chosen in chosen if is_chosen] or PARTS
    wanted = range_of(options)

    def make(out: str, progress: Progress) -> Made:
        fields, seed = options.keep_fields, options.seed
        result = redact.run(options.path, out, wanted, parts=parts, keep_fields=fields, seed=seed, progress=progress)
        return [*result.files, *result.differences], _summary(result, out)

    return command.run(REDACT, options, [options.path], make)


def _summary(result: Result, out: str) -> RedactSummary:
    return RedactSummary(
        path=out,
        files=len(result.files),
        log_bytes=sum(row.size for row in result.files if row.action == REDACTED),
        batches=sum(row.batches for row in result.files),
        records=sum(row.records for row in result.files),
        filled=sum(row.filled for row in result.files),
        findings=result.findings,
        differences=len(result.differences),
        seconds=0.0,
        exit_code=FINDINGS if result.differences else CLEAN,
    )
