"""Runs the commands that list files, once their options are read."""

from __future__ import annotations

from kdump.cli.listing.options import EXPORTS
from kdump.cli.listing.request import Request
from kdump.cli.missing_paths import require_there
from kdump.cli.shared_options import throttle_reading
from kdump.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.listing.options import ListingOptions


def list_paths(suffix: str, options: ListingOptions) -> int:
    """List the files with this suffix. Returns the exit code. Raises UsageError."""
    throttle_reading(options.rate, is_nice=options.is_nice)
    request = Request(suffix, options)
    if not options.is_strict:
        require_there(options.paths)
    if request.output in EXPORTS:
        if options.file is None:
            raise UsageError(f"{request.output} needs a file: --output {request.output} -o FILE")
        from kdump.binary.arrow_loading import require_arrow

        require_arrow("Parquet and Arrow files")
        from kdump.cli.listing.export import export

        return export(request, options.file)
    from kdump.cli.listing import lister

    if options.file is None:
        return lister.list_files(request)
    from kdump.cli.output_file import written_to

    with written_to(options.file):
        return lister.list_files(request)
