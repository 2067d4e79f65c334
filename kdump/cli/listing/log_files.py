"""Lists logs (`.log`) and KRaft snapshots (`.checkpoint`): batches or records."""

from __future__ import annotations

import os

from kdump.cli.listing.intact import intact_text
from kdump.cli.listing.logs import LogLister
from kdump.errors import CorruptData
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.listing.run import Run


def list_log(run: Run, path: str) -> None:
    """List a log, or the part of it that is asked for."""
    with run.opened_log(path) as source:
        run.head(source.path)
        if run.output is None:
            _write_heading(run, os.path.basename(source.path))
        lister = LogLister(run, source, run.begins.get(path))
        lister.intact_text = intact_text(run, source, is_plain=lister.is_plain)
        lister.list_all()


def _write_heading(run: Run, name: str) -> None:
    if name.endswith(file_name.LOG):
        try:
            base_offset = file_name.base_offset(name)
        except CorruptData:
            return  # a copy under another name
        run.out.write(run.request.profile.log_heading.format(offset=base_offset) + "\n")
