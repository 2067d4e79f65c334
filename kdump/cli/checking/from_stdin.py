"""Checks data from stdin, besides any other paths."""

from __future__ import annotations

from kdump.cli.checking.run import check_paths
from kdump.cli.shared_options import STDIN
from kdump.cli.stdin_file import is_log, kind_of, spooled
from kdump.cli.streams import say
from kdump.errors import Unreadable
from kdump.exit_codes import NOT_EXAMINED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.checking.request import CheckRequest


def check_with_stdin(request: CheckRequest) -> int:
    """Check all paths of a request, one of which is stdin. Returns the exit code."""
    try:
        with spooled("stdin") as path:
            request.paths = [path if given == STDIN else given for given in request.paths]
            request.kept_stdin = path
            kind = kind_of(path)
            if kind:
                say(f"stdin starts like a file of type {kind}, and was not examined; unpack it first")
                return NOT_EXAMINED
            if request.settings.file_type is None and request.paths == [path] and is_log(path):
                request.settings.file_type = "log"
            return check_paths(request)
    except Unreadable as error:
        say(str(error))
        return NOT_EXAMINED
