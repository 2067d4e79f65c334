"""Runs `kdump slice`."""

from __future__ import annotations

from kdump.binary.given_bytes import given_bytes
from kdump.cli.mending import command
from kdump.cli.shared_options import range_of, settings_of
from kdump.exit_codes import CLEAN, FINDINGS
from kdump.mending.row import SliceSummary
from kdump.mending.slice import slice
from kdump.mending.slice.slicing import Wanted
from kdump.output.mending import SLICE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.mending.command import Made
    from kdump.cli.mending.options import SliceOptions
    from kdump.mending.progress import Progress
    from kdump.mending.slice.slice import Result

_SUMS = ("batches", "outside", "cloned", "rewritten", "emptied", "dropped", "records", "kept", "out_of_range", "by_key")


def slice_path(options: SliceOptions) -> int:
    """Make the new directory, then report its logs on stdout. Returns the exit code."""
    wanted = Wanted(
        range_of(options),
        is_exact=options.is_exact,
        keep_keys=[given_bytes(text, is_hex=options.is_hex) for text in options.keep_keys],
        drop_keys=[given_bytes(text, is_hex=options.is_hex) for text in options.drop_keys],
    )
    config = settings_of(options.config)

    def make(out: str, progress: Progress) -> Made:
        result = slice.run(options.path, out, wanted, with_damage=options.with_damage, config=config, progress=progress)
        summary = _summary(result, out)
        summary.keeps_damage = options.with_damage
        return [*result.rows, *result.holes], summary

    return command.run(SLICE, options, [options.path], make)


def _summary(result: Result, out: str) -> SliceSummary:
    return SliceSummary.like(
        result,
        path=out,
        **{name: sum(getattr(row, name) for row in result.rows) for name in _SUMS},
        holes=len(result.holes),
        offsets_missing=sum(hole.offsets for hole in result.holes),
        seconds=0.0,
        exit_code=FINDINGS if result.holes else CLEAN,
    )
