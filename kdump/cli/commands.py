"""The commands `kdump log`, `kdump index` and their siblings: the help text of each, its options, and what it runs."""

from __future__ import annotations

import errno
import os
import sys
from functools import partial

from kdump.cli import command_names
from kdump.cli.command_names import ALIASES
from kdump.cli.missing_paths import require_there
from kdump.cli.options import Command, CommandOptions, flag
from kdump.cli.plain_command_line import read_plain
from kdump.cli.shared_options import STDIN
from kdump.cli.streams import forget_stdout, say
from kdump.errors import UsageError
from kdump.exit_codes import NOT_EXAMINED, USAGE
from kdump.formats import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from kdump.cli.checking.options import CheckOptions
    from kdump.cli.forecasting.options import ForecastOptions
    from kdump.cli.listing.options import ListingOptions, LogOptions, OffsetRangeOptions, TimeRangeOptions
    from kdump.cli.looking.options import InfoOptions, MapOptions, ReportOptions, TriageOptions
    from kdump.cli.mending.options import RecoverOptions, RedactOptions, ReindexOptions, SliceOptions
    from kdump.cli.scanning.options import ScanOptions
    from kdump.cli.screens.options import CompletionsOptions, ExplainOptions, ReleasesOptions, SchemaOptions
    from kdump.cli.searching.options import GrepOptions, WhereOptions
    from kdump.cli.shared_options import JudgingOptions

HELP = """\
Usage: kdump COMMAND [OPTIONS] PATH...
       kdump --files FILE[,FILE...] [OPTIONS of kafka-dump-log.sh]

Reads Kafka's files on disk: segments, indexes, snapshots. Never changes them.
Needs no broker and no JVM.

Check     triage check explain forecast
Look      info map report log index timeindex txnindex snapshot checkpoint
Find      grep where
Mend      recover reindex slice redact (into a new directory)
Fleet     scan
Kafka's   --files (drop-in for kafka-dump-log.sh), releases
More      schema completions

Examples
  kdump triage /var/lib/kafka                  what is wrong, the worst first
  kdump check /var/lib/kafka/orders-3          what is wrong, what a start does
  kdump grep order-4711 /var/lib/kafka         records with these bytes
  kdump where orders-3@4711 broker-1 broker-2  what became of a record
  kdump recover orders-3 -o new/orders-3       what is whole of a partition
  kdump --files 00000000000000000000.log       as Kafka's tool prints it

`kdump COMMAND -h` shows the usual options of a command, `--help` all of them;
`kdump --files x --help` shows those of Kafka's tool.
"""


# Imports are inside functions: each command loads only what it needs.


class ProgramOptions(CommandOptions):
    """What `kdump` takes without a command."""

    shows_version: bool = flag("--version", "Show the version and exit.")
    is_verbose: bool = flag("--verbose", "With --version: also show the kernel and packages in use.")


def program(options: ProgramOptions) -> int:
    """Reads Kafka's files on disk."""
    if not options.shows_version:
        raise UsageError("Missing command; see `kdump --help`")
    from kdump.cli.screens.version import version_text

    print(version_text(is_verbose=options.is_verbose))
    return 0


def log(options: LogOptions) -> int:
    """List the batches or records of segments (.log).

    PATH is a file, a partition directory, a log directory, a pattern in quotes, or - for stdin. The listing goes on after
    damage: it finds the next intact batch, and every row says whether it is intact, salvaged or damaged.
    """
    return _list(file_name.LOG, options)


def checkpoint(options: LogOptions) -> int:
    """List the batches or records of KRaft snapshots (.checkpoint), as `kdump log` does.

    It also lists the lines of Kafka's text checkpoints: recovery-point-offset-checkpoint, replication-offset-checkpoint,
    log-start-offset-checkpoint, cleaner-offset-checkpoint and leader-epoch-checkpoint. In a log directory without snapshots,
    it lists all of these except the last.
    """
    return _list(file_name.CHECKPOINT, options)


def index(options: OffsetRangeOptions) -> int:
    """List offset indexes (.index) and compare them with their logs.

    An entry is damaged if there is no batch where it points, or if its offset is not found there or shortly after.
    The zeros at the end of the file are left out.
    """
    return _list(file_name.OFFSET_INDEX, options)


def timeindex(options: TimeRangeOptions) -> int:
    """List time indexes (.timeindex) and compare them with their logs. The zeros at the end of the file are left out."""
    return _list(file_name.TIME_INDEX, options)


def txnindex(options: OffsetRangeOptions) -> int:
    """List transaction indexes (.txnindex): the aborted transactions of segments."""
    return _list(file_name.TRANSACTION_INDEX, options)


def snapshot(options: ListingOptions) -> int:
    """List producer snapshots (.snapshot): what the broker knows about each producer."""
    return _list(file_name.PRODUCER_SNAPSHOT, options)


def _list(suffix: str, options: ListingOptions) -> int:
    """List the files with this suffix. Returns the exit code."""
    from kdump.cli.listing.command import list_paths

    return list_paths(suffix, options)


def info(options: InfoOptions) -> int:
    """Report what is in a log directory, a partition or a file: whose it is, what fills it, and what to look at next.

    PATH is a log directory, a partition directory, a file, or a pattern in quotes. It shows sizes that add up to what `du`
    says, topics with their offsets, times and codecs, producers, open transactions, and groups. By default it reads only some
    headers, and says how much.

    \b
      kdump info /var/lib/kafka
      kdump info --level full /var/lib/kafka/orders-3
      kdump info --topics 'orders*' --output ndjson broker-1 broker-2

    Exit codes: 0 all was seen, 2 wrong usage, 3 something could not be looked at, 4 the output could not be written.
    """
    from kdump.cli.looking.run import info_paths

    require_there(options.paths)
    return _into_file(options, partial(info_paths, options))


def triage(options: TriageOptions) -> int:
    """Report on one screen what is wrong with a broker, the worst first, each with the command to type.

    PATH is a log directory, a partition directory, a file, or a pattern in quotes. Will it start, what does a start lose, what
    cannot be read, who is stuck, what fills it, and what was not looked at. By default it reads checkpoints, some headers, and
    what a start scans, and says so in the verdict.

    \b
      kdump triage /var/lib/kafka
      kdump triage --level deep /var/lib/kafka

    The exit codes are those of `kdump check`.
    """
    from kdump.cli.looking.run import triage_paths

    if options.output == "text":
        require_there(options.paths)
    return _into_file(options, partial(triage_paths, options))


def map(options: MapOptions) -> int:
    """Draw partitions as pictures: what is sound, what is damaged and how, what a crash now deletes, where epochs begin.

    PATH is a partition directory, a log, a log directory, or a pattern in quotes. Each segment is a row; several partitions, such
    as replicas, are drawn on one scale. Letters below a row are findings of `kdump check` at their places; a legend explains all
    signs.

    \b
      kdump map /var/lib/kafka/orders-3
      kdump map --by time /var/lib/kafka/orders-3
      kdump map --by offset broker-1/orders-3 broker-2/orders-3

    The exit codes are those of `kdump check`.
    """
    from kdump.cli.looking.run import map_paths

    require_there(options.paths)
    return _into_file(options, partial(map_paths, options))


def report(options: ReportOptions) -> int:
    """Write one page of HTML for a ticket: the verdict, what to type next, maps, charts, findings with bytes and explanations.

    PATH is a log directory, a partition directory, a file, or a pattern in quotes. The page is one file that needs nothing else
    and asks for nothing; it can be read without JavaScript and printed. Replicas of a partition are drawn on one scale. It has no
    keys and no values, but up to 64 bytes of each finding, in hex.

    \b
      kdump report /var/lib/kafka/orders-3 -o report.html
      kdump report --topics orders broker-1 broker-2 -o report.html

    The exit codes are those of `kdump check`.
    """
    from kdump.cli.looking.run import report_paths
    from kdump.cli.output_file import written_to

    if options.file is None:
        raise UsageError("kdump report needs a file for the page", remedy="-o FILE names it; it must not exist yet")
    require_there(options.paths)
    with written_to(options.file):
        status = report_paths(options)
    if status == NOT_EXAMINED and options.file != STDIN:
        say(f"not everything could be examined: {options.file} says why")
    return status


def check(options: CheckOptions) -> int:
    """Report what is wrong with files, partition directories and log directories.

    PATH may also be a pattern in quotes, or - for stdin, which is read as a log unless --as names another type. Exit codes:
    0 fine, 1 findings, 2 wrong usage, 3 something could not be examined, 4 the output could not be written.
    """
    from kdump.cli.checking.request import CheckRequest

    request = CheckRequest(options)
    if options.output == "text":
        require_there(request.paths)
    if STDIN in request.paths:
        from kdump.cli.checking.from_stdin import check_with_stdin as check_all
    else:
        from kdump.cli.checking.run import check_paths as check_all
    return _into_file(options, partial(check_all, request))


def _into_file(options: JudgingOptions | ScanOptions, judge: Callable[[], int]) -> int:
    """Judge files, with the report in the file that `-o` names, if it names one. Returns the exit code."""
    from kdump.cli.output_file import output_of

    with output_of(options.file, is_quiet=options.is_quiet):
        status = judge()
    if status == NOT_EXAMINED and options.file not in (None, STDIN):
        say(f"not everything could be examined: {options.file} says why")
    return status


def forecast(options: ForecastOptions) -> int:
    """Report what a broker does with a directory at its next start: what is lost, and whether it starts.

    PATH is a partition directory, a log directory, or a pattern in quotes. Nothing is written, and kdump reads little that the
    broker would not read. Exit codes: 0 nothing is lost and the start succeeds, 1 something is lost or the start fails,
    2 wrong usage, 3 something could not be examined, 4 the output could not be written.
    """
    from kdump.cli.forecasting.run import forecast_paths, request_of
    from kdump.cli.output_file import output_of
    from kdump.formats.selection import selected

    paths, request = selected(options.paths, options.topics, options.partitions), request_of(options)
    if options.output == "text":
        require_there(paths)
    with output_of(options.file, is_quiet=options.is_quiet):
        return forecast_paths(options, paths, request)


def scan(options: ScanOptions) -> int:
    """Report what is in brokers' directories and what is wrong; with --tables-to, keep it as Parquet tables.

    PATH is a log directory, a directory of several (broker=1, broker=2), a partition directory, or a pattern in quotes. The
    exit codes are those of `kdump check`.
    """
    from kdump.cli.scanning.request import ScanRequest
    from kdump.cli.scanning.run import scan_paths

    request = ScanRequest(options)
    require_there(options.paths)
    return _into_file(options, partial(scan_paths, request))


def grep(options: GrepOptions) -> int:
    """Find records that contain a PATTERN or fulfil conditions, in files, partitions, log directories and fleets.

    PATH is a file, a directory, a pattern in quotes, or - for stdin. Compressed records are searched as well. With -e or a
    condition such as --key, all arguments are paths. All conditions must hold.

    \b
      kdump grep order-4711 /var/lib/kafka
      kdump grep --key user-42 --tombstones /var/lib/kafka/users-*
      kdump grep -E 'user-(42|43)' --in value --output ndjson orders-0
      kdump grep --where customer.id=42 orders-0
      kdump grep --prove-absent --certificate gone.json user-42 /var/lib/kafka
      kdump grep --verify gone.json

    The verdict on stderr is `found`, `absent` (only if all bytes were read intact) or `not proven`. Exit codes: 0 found,
    1 absent, 2 wrong usage, 3 something was not read intact, whatever was found, 4 the output could not be written.
    """
    from kdump.cli.searching.run import grep_paths

    return grep_paths(options)


def where(options: WhereOptions) -> int:
    """Report what became of a record: by its offset, or by its key.

    PATH is a log directory, a partition directory, or a directory above them; each is a copy, such as the same partition on
    several brokers, or from before.

    \b
      kdump where orders-3@4711 broker-1 broker-2 broker-3
      kdump where --key user-42 before/users-0 now/users-0

    Exit codes: 0 it is there, 1 it is not, 2 wrong usage, 3 something could not be read, so that the answer is not certain or not
    complete, 4 the output could not be written.
    """
    from kdump.cli.output_file import output_of
    from kdump.cli.searching.where import find_record

    with output_of(options.file, is_quiet=options.is_quiet):
        return find_record(options)


def recover(options: RecoverOptions) -> int:
    """Copy what is whole of damaged partitions into a new directory that a broker loads, and report what could not be saved.

    PATH is a partition directory, or a log directory, and is only read. Batches keep their offsets and bytes; companions are
    rebuilt. DIR appears when it is complete, on disk and verified; otherwise not at all.

    \b
      kdump recover /var/lib/kafka/orders-3 -o /mnt/new/orders-3
      kdump recover orders-3 -o new/orders-3 --merge broker2/orders-3
      kdump recover orders-3 -o new/orders-3 --accept 4711
      kdump recover /var/lib/kafka -o /mnt/kafka --output ndjson

    Exit codes: 0 DIR is there, and nothing is lost, 1 DIR is there, but something is lost or an error is left, 2 wrong usage,
    3 no DIR: something could not be read, or DIR could not be verified, 4 no DIR: it could not be written.
    """
    from kdump.cli.mending.recover import recover_paths

    require_there(options.paths)
    return recover_paths(options)


def reindex(options: ReindexOptions) -> int:
    """Copy a partition or log directory, with indexes, producer snapshots and leader epochs rebuilt from its logs.

    PATH is only read. The files in DIR are those that the recovery of a broker 4.3.1 makes, byte for byte. DIR appears when it
    is complete, on disk and verified; otherwise not at all. Damaged logs are refused. With --without-logs, DIR is no partition
    directory: it has only the files that are to be copied beside the logs.

    \b
      kdump reindex /var/lib/kafka/orders-3 -o /mnt/new/orders-3
      kdump reindex orders-3 -o new/orders-3 --only timeindex,snapshot
      kdump reindex /var/lib/kafka -o /mnt/kafka --output ndjson
      kdump reindex /var/lib/kafka/orders-3 -o /mnt/companions --without-logs

    Exit codes: 0 DIR is there, 1 it is there, but other files know of offsets that its logs lack, 2 wrong usage, 3 the input is
    damaged or could not be read, 4 DIR could not be written.
    """
    from kdump.cli.mending.reindex import reindex_path

    require_there([options.path])
    return reindex_path(options)


def slice(options: SliceOptions) -> int:
    """Copy a part of a partition directory, as a small valid partition: for a bug report, or for a test.

    PATH is only read. DIR holds the batches that have records in the ranges, both ends included, with their offsets, the markers
    that end their transactions, and new indexes and snapshots. Whole batches are copied as they are. With --exact or keys, those
    that lose records are written again as the log cleaner does. DIR appears when it is complete, on disk and verified.

    \b
      kdump slice orders-3 -o few --from-offset 4700 --to-offset 4720
      kdump slice orders-3 -o part --from-time 2026-11-20T13:45 --exact
      kdump slice orders-3 -o without --drop-key customer-17

    Exit codes: 0 DIR is there, 2 wrong usage or nothing in the range, 3 something in the range is damaged or could not be read,
    4 DIR could not be written.
    """
    from kdump.cli.mending.slice import slice_path

    require_there([options.path])
    return slice_path(options)


def redact(options: RedactOptions) -> int:
    """Copy a partition directory without the contents of its records, to hand it to somebody else.

    PATH is only read. Keys, values and headers become letters and digits of the same length, equal ones equal ones. Offsets,
    times, producers, batches and indexes stay, and so does damage: bytes that cannot be read are replaced by filler, and so is
    all behind the header of a batch that is damaged inside. A check of PATH and one of DIR are compared at the end.

    \b
      kdump redact /var/lib/kafka/orders-3 -o for-the-vendor
      kdump redact orders-3 -o shown --values --keep-field order.id

    Exit codes: 0 DIR is there, 1 DIR is there but `kdump check` finds something else in it, 2 wrong usage, 3 PATH could not be
    read, 4 DIR could not be written.
    """
    from kdump.cli.mending.redact import redact_path

    require_there([options.path])
    return redact_path(options)


def explain(options: ExplainOptions) -> int:
    """Explain a fault: cause, consequence, remedy. Without a CODE, list all faults.

    Give the name of an exception, or lines of a broker's, controller's or client's log in quotes, as they are, to learn what they
    mean, whether records are lost, and which faults cause them; - reads them from stdin. Of a stack trace, the most specific line
    counts. A line that kdump does not know ends with exit code 1: it is never explained by the class of its exception alone.

    \b
      kdump explain CorruptRecordException
      kdump explain "Corruption found in segment 4182, truncating to offset 4711"
      tail -n 50 server.log | kdump explain -
    """
    from kdump.cli.output_file import written_to
    from kdump.cli.screens.explain import explain_fault

    with written_to(options.file):
        return explain_fault(options.words)


def schema(options: SchemaOptions) -> int:
    """Print the JSON Schema of a kind of row, such as finding. Without NAME, list all kinds."""
    from kdump.cli.output_file import written_to
    from kdump.cli.screens.schema import print_schema

    with written_to(options.file):
        return print_schema(options.name)


def releases(options: ReleasesOptions) -> int:
    """List the releases of Kafka's tool, grouped by what they print, and what each group changed.

    With one RELEASE, list everything that it changed, old and new side by side. With two, or with 2.0.0..2.0.1, list how they
    differ.
    """
    from kdump.cli.output_file import written_to
    from kdump.cli.screens.releases import list_releases

    with written_to(options.file):
        return list_releases(options)


def completions(options: CompletionsOptions) -> int:
    """Print the script that lets a shell complete command lines of kdump.

    \b
    bash  eval "$(kdump completions bash)" in ~/.bashrc
    zsh   eval "$(kdump completions zsh)" in ~/.zshrc, after compinit
    fish  kdump completions fish -o ~/.config/fish/completions/kdump.fish
    """
    from kdump.cli.completion import script
    from kdump.cli.output_file import written_to

    with written_to(options.file):
        print(script(parser(), options.shell), end="")
    return 0


COMMANDS = {name: Command(options, globals()[name]) for name, options in command_names.COMMANDS.items()}
"""All commands: for each name, the function above. In the order of `kdump.cli.command_names`."""


def parser() -> click.Group:
    """Click's parser of all commands."""
    from kdump.cli import click_parser

    return click_parser.parser_of(Command(ProgramOptions, program), COMMANDS, help_screen=HELP)


def main(arguments: list[str]) -> int:
    """Run a command; the exit code says how it went.

    Click reads the command lines that are not plain, and only these: it takes longer to load than a small file to read.
    """
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    if arguments and arguments[0] in ALIASES:
        arguments = [ALIASES[arguments[0]], *arguments[1:]]
    name = arguments[0] if arguments else "--help"
    if not name.startswith("-") and name not in COMMANDS:
        from kdump.cli.unknown_command import unknown_command

        return _refused(unknown_command(name))
    if sys.stdout is None:
        raise OSError(errno.EBADF, "stdout is closed")
    try:
        command = COMMANDS.get(name)
        if command is not None:
            values = read_plain(command.options.OPTIONS, arguments[1:])
            if values is not None:
                status = command.run(command.options(**values))
                sys.stdout.flush()
                return status
        return _run_by_click(arguments or ["--help"])
    except UsageError as error:
        return _refused(str(error))


def _run_by_click(arguments: list[str]) -> int:
    """The same for any command line.

    Click only reads it. The work is done after that, where Click does not take our interrupts and broken pipes.
    """
    import click

    from kdump.cli import click_parser, completion

    if completion.VARIABLE in os.environ:
        completion.register()
    try:
        invocation = parser().main(arguments, prog_name="kdump", standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "kdump"
        path = next((word for word in arguments if word.startswith("-") and os.path.exists(word)), None)
        hint = f"see `{command} --help`" if path is None else f"to name the path {path}, type {os.path.join(os.curdir, path)}"
        return _refused(f"{error.format_message().rstrip('.')}; {hint}")
    except click.Abort as abort:
        raise KeyboardInterrupt(*getattr(abort.__cause__, "args", ())) from None
    except SystemExit:  # the reader of a screen that Click wrote has gone
        forget_stdout()
        return 0
    if not isinstance(invocation, click_parser.Invocation):
        return invocation or 0  # a screen was shown
    return invocation.run(invocation.options)


def _refused(message: str) -> int:
    say(message)
    return USAGE
