"""The commands `kdump log`, `kdump index` and their siblings."""

from __future__ import annotations

import errno
import functools
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kdump import __version__
from kdump.binary import kernel
from kdump.checks.finding import ERROR, SEVERITIES
from kdump.checks.settings import CLEANUP_POLICIES, FULL, LEVELS, UNKNOWN
from kdump.cli import completion
from kdump.cli.checking import options as check_options
from kdump.cli.command_names import near_commands
from kdump.cli.listing import decoder_names
from kdump.cli.listing.paths import COMMANDS
from kdump.cli.listing.request import EXPORTS, Request
from kdump.cli.output_file import written_to
from kdump.cli.streams import forget_stdout, say
from kdump.errors import Unreadable, UsageError
from kdump.exit_codes import NOT_EXAMINED, USAGE
from kdump.forecasts.settings import CONFIG, STOPS
from kdump.forecasts.settings import RECOVERY_POINTS as POINTS
from kdump.formats import file_name
from kdump.releases import history
from kdump.releases.broker_startup import PROVED

STDIN = decoder_names.STDIN
FORECAST_FORMS = ("text", "ndjson", "json", "csv", "table")

_HELP = """\
Usage: kdump --files FILE[,FILE...] [options of kafka-dump-log.sh]
       kdump COMMAND [options] PATH...

Reads Kafka's files on disk: segments, indexes, snapshots. Never writes to them, needs no broker and no JVM.

Look      log index timeindex txnindex snapshot checkpoint
Check     check explain forecast
Fleet     scan
Data      schema
Kafka's   --files (drop-in for kafka-dump-log.sh), releases
Shell     completions

Examples
  kdump --files 00000000000000000000.log                  as Kafka's tool prints it
  kdump --release 1.0.1 --files x.log --print-data-log    as Kafka 1.0.1 printed it
  kdump check /var/lib/kafka/orders-3                     what is wrong, what a restart would do
  kdump forecast /var/lib/kafka/orders-3                  what a restart loses, segment by segment
  kdump log /var/lib/kafka/orders-3                       all segments of a partition, past any damage
  kdump log --tail 5 /var/lib/kafka/orders-3              the last batches; --offset N for that of one offset
  zcat x.log.gz | kdump log -                             a segment from stdin
  kdump log --output ndjson --from-time 2026-11-20 x.log  batches as JSON, from a time on
  kdump check -o report.json --output json /data          into a file, which must not exist yet
  kdump scan /data --out tables                           a fleet as Parquet, and what is wrong with it
  kdump log --deep --output ndjson x.log                  records as JSON, internal topics decoded
  kdump releases 2.0.1                                    what 2.0.1 prints that 2.0.0 did not

`kdump help COMMAND` shows the options of a command, `kdump --files x --help` those of Kafka's tool.
"""


class _Group(click.Group):
    """The group of all commands; its help screen is written by hand."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(_HELP)


@click.group(cls=_Group, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", "shows_version", is_flag=True, help="Show the version and exit.")
@click.option("--verbose", "is_verbose", is_flag=True, help="With --version: also show the kernel and packages in use.")
@click.pass_context
def kdump(context: click.Context, shows_version: bool, is_verbose: bool) -> None:
    """Reads Kafka's files on disk."""
    if shows_version:
        click.echo(f"kdump {__version__}" + (_setup() if is_verbose else ""))
        context.exit()
    if context.invoked_subcommand is None:
        raise click.UsageError("Missing command.")


def _setup() -> str:
    """What this installation works with, a line each."""
    import platform  # takes longer than many a command
    from importlib import metadata

    lines = [f"kernel: {kernel.name} ({kernel.reason})", f"Python: {sys.version.split()[0]} on {platform.platform()}"]
    for package in ("click", "crc32c", "lz4", "python-snappy", "rich", "zstandard", "isal"):
        try:
            lines.append(f"{package}: {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{package}: not installed")
    return "".join("\n" + line for line in lines)


if TYPE_CHECKING:
    from kdump.cli.checking.request import CheckRequest
    from kdump.cli.forecasting.request import ForecastRequest
    from kdump.cli.releases import ReleasesRequest
    from kdump.cli.scanning.request import ScanRequest

Command = Callable[..., Any]  # what a command takes and gives is Click's matter


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator for all these options, in this order."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _screen(function: Command) -> Command:
    """A command that prints a screen, as one that gives what is to be called for it: by then it is known where it goes."""

    @functools.wraps(function)
    def ask(**options: Any) -> Callable[[], None]:
        return functools.partial(function, **options)

    return ask


def _decoder_name(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """A name that `--decode` takes; topics may be called what Kafka calls them."""
    name = None if value is None else decoder_names.named(value)
    if name is not None and name not in decoder_names.NAMES:
        raise click.BadParameter(f"'{value}' is none of {', '.join(decoder_names.NAMES)}.")
    return name


def _decoder_option(name: str, what: str) -> Callable[[Command], Command]:
    return click.option(name, type=click.Choice(decoder_names.PLAIN), help=f"How to decode {what}; overrides --decode.")


def _throttle(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Throttle reading by --nice or --rate, whichever this is; they go together."""
    asked_for = context.meta.setdefault("kdump.throttle", {"nice": False, "rate": None})
    asked_for[parameter.name] = value
    if value:
        from kdump.binary.throttle import throttle

        throttle(asked_for["rate"] or "", is_nice=asked_for["nice"])


class OutputFile:
    """What a command line says of where the output goes; the object of Click's contexts."""

    def __init__(self) -> None:
        self.path: str | None = None


def _take_file(context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> None:
    """Note the file for the output. A form there is what `-o` meant once, unless `--output` says the form."""
    output = next((parameter for parameter in context.command.params if parameter.name == "output"), None)
    forms = output.type.choices if output is not None and isinstance(output.type, click.Choice) else ()
    is_form_given = context.get_parameter_source("output") is ParameterSource.COMMANDLINE
    for value in values:
        if value in forms and not is_form_given:
            raise click.UsageError(
                f"-o is a file now; the format is --output {value} (for a file of this name: -o ./{value})", context
            )
    if len(values) > 1:
        raise click.UsageError(f"there is one file for the output, not {len(values)}: {', '.join(values)}", context)
    if values:
        context.ensure_object(OutputFile).path = values[0]


_FILE = click.option(
    "-o",
    "file",
    metavar="FILE",
    multiple=True,
    callback=_take_file,
    expose_value=False,
    shell_complete=completion.file_names,
    help="Write the output to FILE instead of stdout; FILE must not exist yet.",
)


def _output(forms: Sequence[str], help: str) -> Callable[[Command], Command]:
    """The option for the form of the output; the first of `forms` is the default. It is read before `-o`, which asks for it."""
    return click.option("--output", type=click.Choice(forms), default=forms[0], show_default=True, is_eager=True, help=help)


_FORMS = ("kafka", "ndjson", "csv", "table")
_PATHS = click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=completion.file_names)
_REST = (
    click.option(
        "--release",
        default=history.RELEASES[-1],
        show_default=True,
        shell_complete=completion.releases,
        help="Print Kafka's lines in the words of this release.",
    ),
    click.option("--limit", type=click.IntRange(min=1), help="Stop after N rows."),
    click.option("--strict-stderr", is_flag=True, help="Print only Kafka's own words on stderr."),
    click.option(
        "--nice",
        is_flag=True,
        callback=_throttle,
        expose_value=False,
        help="Run at the lowest priority and leave the page cache as it was, for use beside a running broker.",
    ),
    click.option(
        "--rate", callback=_throttle, expose_value=False, metavar="RATE", help="Read no faster than this, for example 50MB/s."
    ),
)
_COMMON = (
    _PATHS,
    _output(
        _FORMS,
        "Kafka's lines; one JSON object or CSV line a row; or aligned columns, as wide as the terminal and uncut in a pipe.",
    ),
    _FILE,
    *_REST,
)


_OFFSETS = (
    click.option("--from-offset", type=int, help="List only what holds this offset or later ones."),
    click.option("--to-offset", type=int, help="List only what holds this offset or earlier ones."),
)
_TIMES = (
    click.option(
        "--from-time", help="List only what may hold this time or later: a date, a date and time (UTC), or milliseconds."
    ),
    click.option("--to-time", help="List only what may hold this time or earlier."),
)
_LOG = (
    _PATHS,
    _output(
        (*_FORMS, *EXPORTS),
        "Kafka's lines; one JSON object or CSV line a row; aligned columns, as wide as the terminal and uncut in a pipe; or a"
        " Parquet or Arrow file, with -o FILE.",
    ),
    _FILE,
    *_REST,
    *_OFFSETS,
    *_TIMES,
    click.option("--from-position", type=click.IntRange(min=0), help="List only batches that start at this byte or later."),
    click.option(
        "--tail",
        type=click.IntRange(min=1),
        metavar="N",
        help="List only the last N batches of each partition, or with --deep the last N records.",
    ),
    click.option(
        "--offset",
        type=int,
        metavar="N",
        help="List only the batch or record that holds offset N; if there is none, say what lies around it.",
    ),
    click.option("--deep", "--deep-iteration", "is_deep", is_flag=True, help="List records, not only batches."),
    click.option(
        "--print-data-log", "prints_data", is_flag=True, help="Also print keys and values in Kafka's lines; implies --deep."
    ),
    click.option("--skip-record-metadata", "skips_metadata", is_flag=True, help="Print nothing but keys and values of records."),
    click.option(
        "--decode",
        metavar="NAME",
        callback=_decoder_name,
        shell_complete=completion.words(*decoder_names.NAMES),
        help="How to decode keys and values: "
        + ", ".join(decoder_names.NAMES)
        + ". 'auto' goes by the name of the directory and is"
        " the default, except for Kafka's lines. All but 'none' imply --deep and --print-data-log.",
    ),
    _decoder_option("--key-decoder", "keys"),
    _decoder_option("--value-decoder", "values"),
    click.option(
        "--keep-going/--no-keep-going",
        default=True,
        show_default=True,
        help="Go on after damage, or stop at the first with exit code 1.",
    ),
)


@kdump.command()
@_options(*_LOG)
def log(**options: Any) -> Request:
    """List the batches or records of segments (.log).

    PATH is a file, a partition directory, a log directory, a pattern in quotes, or - for stdin. Damage does not end the
    listing: the next intact batch is found, and every row says whether it is intact, salvaged or damaged.
    """
    return Request(file_name.LOG, **options)


@kdump.command()
@_options(*_LOG)
def checkpoint(**options: Any) -> Request:
    """List the batches or records of KRaft snapshots (.checkpoint), as `kdump log` does.

    Also the lines of Kafka's checkpoints in text: recovery-point-offset-checkpoint, replication-offset-checkpoint,
    log-start-offset-checkpoint, cleaner-offset-checkpoint and leader-epoch-checkpoint; in a log directory without snapshots,
    all of these but the last.
    """
    return Request(file_name.CHECKPOINT, **options)


@kdump.command()
@_options(*_COMMON, *_OFFSETS)
def index(**options: Any) -> Request:
    """List offset indexes (.index) and compare them with their logs.

    An entry is damaged if there is no batch where it points, or its offset is not found there or shortly after.
    The zero tail is left out.
    """
    return Request(file_name.OFFSET_INDEX, **options)


@kdump.command()
@_options(*_COMMON, *_OFFSETS, *_TIMES)
def timeindex(**options: Any) -> Request:
    """List time indexes (.timeindex) and compare them with their logs. The zero tail is left out."""
    return Request(file_name.TIME_INDEX, **options)


@kdump.command()
@_options(*_COMMON, *_OFFSETS)
def txnindex(**options: Any) -> Request:
    """List transaction indexes (.txnindex): the aborted transactions of segments."""
    return Request(file_name.TRANSACTION_INDEX, **options)


@kdump.command()
@_options(*_COMMON)
def snapshot(**options: Any) -> Request:
    """List producer snapshots (.snapshot): what the broker knows of each producer."""
    return Request(file_name.PRODUCER_SNAPSHOT, **options)


@kdump.command()
@click.argument("releases", nargs=-1, metavar="[RELEASE [RELEASE]]", shell_complete=completion.releases)
@_output(("text", "ndjson"), "Text, or one JSON object a row.")
@_FILE
def releases(releases: tuple[str, ...], output: str) -> ReleasesRequest:
    """List the releases of Kafka's tool, those that print alike together, and what they changed.

    With one RELEASE: all that it changed, with old and new side by side. With two, also as 2.0.0..2.0.1: how they differ.
    """
    from kdump.cli.releases import ReleasesRequest

    return ReleasesRequest(releases, output=output)


_COMPLETERS = {"ignore": completion.codes, "select": completion.codes, "baseline": completion.file_names}
_CHECK = (_PATHS, *check_options.decorators(click.option, click.Choice, click.IntRange, click.FloatRange, _COMPLETERS), _FILE)


@kdump.command()
@_options(*_CHECK)
def check(**options: Any) -> object:
    """Report what is wrong with files, partition directories and log directories.

    PATH may also be a pattern in quotes, or - for stdin: a log, unless --as says otherwise. Exit codes: 0 clean, 1 findings,
    2 usage, 3 something could not be examined, 4 the output failed.
    """
    from kdump.cli.checking.request import CheckRequest

    return CheckRequest(**options)


_FORECAST = (
    _PATHS,
    click.option("--after", type=click.Choice(STOPS), help="The stop before the start; both, if not given."),
    click.option(
        "--recovery-point",
        metavar="WHERE",
        shell_complete=completion.words(*POINTS),
        help="Up to where data counts as flushed: " + ", ".join(POINTS) + " or an offset. If not given: what the checkpoint"
        " of the log directory says, zero for a log directory without one, and elsewhere both zero and end. An unclean start"
        " scans all segments from there on.",
    ),
    click.option(
        "--broker",
        metavar="RELEASE",
        default=PROVED[-1],
        shell_complete=completion.releases,
        show_default=True,
        help=f"The broker's release. Starts of {', '.join(PROVED)} are known; for others, the nearest of these is used.",
    ),
    click.option(
        "--config",
        multiple=True,
        metavar="NAME=VALUE",
        shell_complete=completion.words(*(f"{name}=" for name in CONFIG)),
        help="A setting of the broker or topic: " + ", ".join(CONFIG) + ".",
    ),
    _output(FORECAST_FORMS, "Text for people; lines or documents for programs."),
    _FILE,
)

_SCAN = (
    _PATHS,
    click.option(
        "--out",
        "out",
        metavar="DIR",
        shell_complete=completion.directories,
        help="Write the tables to DIR, which must not exist yet. Without it, print only the summary.",
    ),
    click.option(
        "--engine",
        type=click.Choice(["spark", "local"]),
        help="Use Spark, in this process or on a cluster, or processes of this machine. If not given: Spark if it is installed"
        " with a Java to run on, or if --master is given.",
    ),
    click.option(
        "--master",
        metavar="URL",
        help="A cluster, such as spark://host:7077, on which PATH and DIR are the same as on this machine.",
    ),
    click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark."),
    click.option(
        "--tables", metavar="NAME,...", shell_complete=completion.tables, help="The tables to write; by default all but records."
    ),
    click.option("--records", "with_records", is_flag=True, help="Also write the table of records, with all keys and values."),
    click.option(
        "--savings",
        type=click.Choice(["sample", "all", "none"]),
        default="sample",
        show_default=True,
        help="Which compressed batches to decompress, to measure what codecs save.",
    ),
    click.option("--topics", metavar="GLOB,...", help="Examine only these topics."),
    click.option("--partitions", metavar="0,4-7", help="Examine only these partitions."),
    click.option(
        "--broker", metavar="NAME", help="The name of the broker that PATH belongs to; by default taken from its directories."
    ),
    click.option("--include-deleted", is_flag=True, help="Also examine files that are about to be deleted."),
    click.option("--target-bytes", default="64m", show_default=True, metavar="SIZE", help="How much one task reads."),
    click.option(
        "--level", type=click.Choice(LEVELS), default=FULL, show_default=True, help="How deep to check, as for `kdump check`."
    ),
    click.option(
        "--cleanup-policy",
        type=click.Choice(CLEANUP_POLICIES),
        default=UNKNOWN,
        show_default=True,
        help="The policy of the topics.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(SEVERITIES),
        default=ERROR,
        show_default=True,
        help="Exit with code 1 for findings of this severity or worse.",
    ),
    click.option(
        "--jobs", type=click.IntRange(min=0), default=0, help="Cores to use; 0, the default: as many as suit the machine."
    ),
    _output(("text", "json"), "Print the summary for people, or for programs."),
    _FILE,
)


@kdump.command()
@_options(*_FORECAST)
def forecast(**options: Any) -> object:
    """Report what a broker does with a directory at its next start: what is lost, and whether it starts.

    PATH is a partition directory, a log directory, or a pattern in quotes. Nothing is written, and little is read that the
    broker would not read. Exit codes: 0 nothing is lost and the start succeeds, 1 something is lost or the start fails, 2 usage,
    3 something could not be examined, 4 the output failed.
    """
    from kdump.cli.forecasting.request import ForecastRequest

    return ForecastRequest(**options)


@kdump.command()
@_options(*_SCAN)
def scan(**options: Any) -> object:
    """Report what is in brokers' directories and what is wrong; with --out, keep it as Parquet tables.

    PATH is a log directory, one above several (broker=1, broker=2), a partition, or a pattern in quotes. Exit codes are those
    of `kdump check`.
    """
    from kdump.cli.scanning.request import ScanRequest

    return ScanRequest(**options)


@kdump.command()
@click.argument("words", nargs=-1, metavar="[CODE | EXCEPTION | LINE OF A LOG]", shell_complete=completion.codes)
@_FILE
@_screen
def explain(words: tuple[str, ...]) -> None:
    """Explain a fault: cause, consequence, remedy. Without a CODE, list all.

    The name of an exception, or a line of server.log in quotes, leads to the faults behind it:

    \b
      kdump explain CorruptRecordException
      kdump explain "Corruption found in segment 4182, truncating to offset 4711"
    """
    import shutil

    from kdump.checks import catalogue
    from kdump.cli.checking.request import suggestion
    from kdump.output.text.explain import contents, explanation, meaning

    width = shutil.get_terminal_size((100, 24)).columns
    text = " ".join(words)
    if not words:
        click.echo(contents(width), nl=False)
    elif text.strip().lower() in catalogue.FAULTS:
        click.echo(explanation(text.strip().lower(), width), nl=False)
    elif page := meaning(text, width):
        click.echo(page, nl=False)
    else:
        raise UsageError(f"there is no fault {text}", remedy=suggestion(text))


@kdump.command()
@click.argument("name", required=False, shell_complete=completion.kinds_of_rows)
@_FILE
@_screen
def schema(name: str | None) -> None:
    """Print the JSON Schema of a kind of row, such as finding. Without NAME, list all."""
    import json

    from kdump.output import schemas

    if name is None:
        click.echo("\n".join(schemas.ROWS))
    elif name in schemas.ROWS:
        click.echo(json.dumps(schemas.schema_of(name), indent=2))
    else:
        raise UsageError(f"there is no schema {name}", remedy=f"there are {', '.join(schemas.ROWS)}")


@kdump.command()
@click.argument("shell", type=click.Choice(list(completion.SHELLS)))
@_FILE
@_screen
def completions(shell: str) -> None:
    """Print the script that lets a shell complete command lines of kdump.

    \b
    bash  eval "$(kdump completions bash)" in ~/.bashrc
    zsh   eval "$(kdump completions zsh)" in ~/.zshrc, after compinit
    fish  kdump completions fish -o ~/.config/fish/completions/kdump.fish
    """
    click.echo(completion.script(kdump, shell), nl=False)


def main(arguments: list[str]) -> int:
    """Run a command; the exit code says how it went.

    Click only reads the command line. The work is done after it, where it does not take our interrupts and broken pipes.
    """
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    if arguments and not arguments[0].startswith("-") and arguments[0] not in kdump.commands:
        return _refused(_no_command(arguments[0]))
    if sys.stdout is None:
        raise OSError(errno.EBADF, "stdout is closed")
    file = OutputFile()
    if completion.VARIABLE in os.environ:
        completion.register()
    try:
        request = kdump.main(arguments or ["--help"], prog_name="kdump", standalone_mode=False, obj=file)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "kdump"
        return _refused(f"{error.format_message().rstrip('.')}; see `{command} --help`")
    except UsageError as error:
        return _refused(str(error))
    except click.Abort:
        raise KeyboardInterrupt
    except SystemExit:  # the reader of a screen that Click wrote has gone
        forget_stdout()
        return 0
    if request is None or isinstance(request, int):
        return request or 0  # a screen was shown
    try:
        return _done(request, file.path)
    except UsageError as error:
        return _refused(str(error))


def _no_command(word: str) -> str:
    """What is said of a word that is no command: what may have been meant, or what there is to type for a path."""
    quoted = shlex.quote(word)
    if os.path.isdir(word):
        return f"{word} is a directory; what is wrong with it: `kdump check {quoted}`, what is in its logs: `kdump log {quoted}`"
    if os.path.exists(word):
        command = COMMANDS.get(file_name.suffix(os.path.basename(word)), "log")
        return f"{word} is a file; try `kdump {command} {quoted}`, `kdump check {quoted}` or `kdump --files {quoted}`"
    near = near_commands(word)
    if near:
        return f"there is no command {word}; did you mean {near[0]}?"
    return f"there is no command or file {word}; `kdump help` lists the commands"


def _done(request: Any, file: str | None) -> int:
    """Do what is asked for. Returns the exit code."""
    if isinstance(request, Request) and request.output in EXPORTS:
        if file is None:
            raise UsageError(f"{request.output} needs a file: --output {request.output} -o FILE")
        from kdump.cli.listing.export import export

        return export(request, file)
    with written_to(file):
        return _run(request)


def _run(request: Request | ReleasesRequest | CheckRequest | ForecastRequest | ScanRequest | Callable[[], None]) -> int:
    """Write what is asked for to stdout. Returns the exit code."""
    if isinstance(request, Request):
        from kdump.cli.listing.lister import list_files

        return list_files(request)
    from kdump.cli.checking.request import CheckRequest

    if isinstance(request, CheckRequest):
        return _check(request)
    from kdump.cli.forecasting.request import ForecastRequest

    if isinstance(request, ForecastRequest):
        from kdump.cli.forecasting.run import forecast_paths

        return forecast_paths(request)
    if callable(request):
        request()
        return 0
    from kdump.cli.scanning.request import ScanRequest

    if isinstance(request, ScanRequest):
        from kdump.cli.scanning.run import scan_paths

        return scan_paths(request)
    from kdump.cli.releases import list_releases

    return list_releases(request)


def _check(request: CheckRequest) -> int:
    """Check all paths of a request, and stdin where it is one of them. Returns the exit code."""
    from kdump.cli.checking.run import check_paths

    if STDIN not in request.paths:
        return check_paths(request)
    from kdump.cli.stdin_file import is_log, kind_of, spooled

    try:
        with spooled("stdin") as path:
            request.paths = [path if given == STDIN else given for given in request.paths]
            kind = kind_of(path)
            if kind:
                say(f"stdin begins like a file of {kind}, and was not examined; unpack it first")
                return NOT_EXAMINED
            if request.settings.file_type is None and request.paths == [path] and is_log(path):
                request.settings.file_type = "log"
            return check_paths(request)
    except Unreadable as error:
        say(str(error))
        return NOT_EXAMINED


def _refused(message: str) -> int:
    say(message)
    return USAGE
