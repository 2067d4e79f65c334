"""Runs a listing: finds the files, lists them past any damage, counts what is wrong."""

from __future__ import annotations

from contextlib import contextmanager

from kdump.cli.listing.paths import files
from kdump.cli.listing.run import Enough, Run
from kdump.cli.shared_options import STDIN
from kdump.cli.streams import stderr_bytes
from kdump.errors import CorruptData, KdumpError, Unreadable, UsageError
from kdump.formats import file_name
from kdump.output.blocks import Blocks
from kdump.output.rows import listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kdump.cli.listing.request import Request
    from kdump.cli.listing.tuning import ListTuning
    from kdump.tables import Row

_LISTERS: dict[str, tuple[str, str, type[Row]]] = {
    file_name.LOG: ("log_files", "list_log", listing.ListedBatch),
    file_name.CHECKPOINT: ("log_files", "list_log", listing.ListedBatch),
    file_name.OFFSET_INDEX: ("indexes", "list_offset_index", listing.ListedIndexEntry),
    file_name.TIME_INDEX: ("indexes", "list_time_index", listing.ListedTimeIndexEntry),
    file_name.TRANSACTION_INDEX: ("indexes", "list_transaction_index", listing.ListedTransaction),
    file_name.PRODUCER_SNAPSHOT: ("producer_snapshots", "list_producer_snapshot", listing.ListedProducer),
}
"""How files are listed, by suffix: the module next to this one, loaded for the first of them, its function, and the rows."""


def list_files(request: Request, tuning: ListTuning | None = None) -> int:
    """List all files of a request on stdout. Returns the exit code: clean, findings, or files that could not be examined.

    If the reader of a pipe closes it, the listing ends, with the exit code for what was seen so far.
    """
    with open(1, "wb", buffering=0, closefd=False) as stdout, stderr_bytes() as stderr:
        out, err = Blocks(stdout), Blocks(stderr, needs_reader=False)
        run = Run(request, out, err, is_terminal=stdout.isatty(), is_error_terminal=stderr.isatty(), tuning=tuning)
        try:
            with _stdin(run):
                _list(run)
            out.flush()
        except BrokenPipeError:
            pass
        except Unreadable as error:
            run.is_unexamined = True
            run.say(str(error))
        finally:
            run.schemas.close()
        err.flush()
        return run.status


@contextmanager
def _stdin(run: Run) -> Iterator[None]:
    """Make stdin a file within the block, if the request names it. Raises UsageError if other files are needed beside it."""
    request = run.request
    if STDIN not in request.paths:
        yield
        return
    if request.suffix in (file_name.OFFSET_INDEX, file_name.TIME_INDEX):
        raise UsageError("an index from stdin has neither a base offset in its name nor a log next to it", remedy="name the file")
    from kdump.cli.stdin_file import kind_of, spooled

    with spooled("stdin" + request.suffix) as path:
        run.names[path] = STDIN
        kind = kind_of(path)
        if kind:
            run.say(f"stdin starts like a file of type {kind}; unpack it first")
        request.paths = [path if given == STDIN else given for given in request.paths]
        yield


def _list(run: Run) -> None:
    if run.request.suffix == file_name.CHECKPOINT and _lists_text(run):
        return
    module, function, row_class = _LISTERS[run.request.suffix]
    list_file = getattr(__import__("kdump.cli.listing." + module, fromlist=[function]), function)  # as importlib, without it
    if row_class is listing.ListedBatch and run.request.is_deep:
        row_class = listing.ListedRecord
    run.start(row_class)
    list_each(run, list_file)
    run.end()


def _lists_text(run: Run) -> bool:
    """List text checkpoints, if the request is for them. Returns whether it is."""
    from kdump.cli.listing import text_checkpoints

    of_text = text_checkpoints.text_files(run.request.paths)
    if of_text:
        text_checkpoints.start(run, of_text)
        list_each(run, text_checkpoints.list_text_checkpoint, of_text)
        run.end()
    return bool(of_text)


def list_each(run: Run, list_file: Callable[[Run, str], None], found: Sequence[str] = ()) -> None:
    """List each file of a request (or those found), up to the limit; note what is damaged, and what could not be examined."""
    try:
        for path in found or _chosen(run):
            try:
                if isinstance(path, KdumpError):
                    raise path
                list_file(run, path)
            except UsageError:
                raise  # of schemas that are asked for
            except CorruptData as fault:
                run.find(None, str(fault))
            except KdumpError as error:
                run.is_unexamined = True
                run.say(str(error))
            finally:
                if isinstance(path, str):
                    run.end_file(run.names.get(path, path))
        run.say_what_is_held()
    except Enough:
        pass


def _chosen(run: Run) -> Iterable[str | KdumpError]:
    """The files of a request that may contain requested rows."""
    request = run.request
    found = files(request.paths, request.suffix)
    if request.tail is not None:
        from kdump.cli.listing import tail

        chosen: list[str | KdumpError] = []
        paths = list(found)
        begins = tail.begins(paths, request.tail, is_deep=request.is_deep)
        for path in paths:
            begin = begins.get(path) if isinstance(path, str) else path
            if isinstance(begin, Unreadable):
                chosen.append(begin)
            elif begin is not None:
                run.begins[str(path)] = begin
                chosen.append(path)
        return chosen
    if request.offset is not None:
        from kdump.cli.listing import one_offset

        return one_offset.segments_for(run, found, request.offset)
    return found
