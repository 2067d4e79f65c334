"""The commands `kdump log`, `kdump index` and their siblings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from kdump import __version__
from kdump.cli.listing import Request, list_files
from kdump.errors import KdumpError, UsageError
from kdump.formats import file_name
from kdump.releases import history

_HELP = """\
Usage: kdump --files FILE[,FILE...] [options of kafka-dump-log.sh]
       kdump COMMAND [options] PATH...

Reads Kafka's files on disk: segments, indexes, snapshots. Never writes to them, needs no broker and no JVM.

Look      log index timeindex txnindex snapshot checkpoint
Kafka's   --files (drop-in for kafka-dump-log.sh)

Examples
  kdump --files 00000000000000000000.log                  as Kafka's tool prints it
  kdump --release 1.0.1 --files x.log --print-data-log    as Kafka 1.0.1 printed it
  kdump log /var/lib/kafka/orders-3                       all segments of a partition, past any damage
  kdump log --output ndjson --from-time 2026-11-20 x.log  batches as JSON, from a time on
  kdump log --deep --output ndjson x.log                  records as JSON

`kdump COMMAND --help` shows the options of a command, `kdump --files x --help` those of Kafka's tool.
"""


class _Group(click.Group):
    """The group of all commands; its help screen is written by hand."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(_HELP)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="kdump %(version)s")
def kdump() -> None:
    """Reads Kafka's files on disk."""


Command = Callable[..., None]


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator for all these options, in this order."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_COMMON = (
    click.argument("paths", nargs=-1, required=True, metavar="PATH..."),
    click.option(
        "-o",
        "--output",
        type=click.Choice(["kafka", "ndjson", "csv", "table"]),
        default="kafka",
        show_default=True,
        help="Kafka's lines, one JSON object or CSV line a row, or aligned columns.",
    ),
    click.option("--release", default=history.RELEASES[-1], show_default=True, help="Whose words the lines are in."),
    click.option("--limit", type=click.IntRange(min=1), help="Stop after so many rows."),
    click.option("--strict-stderr", is_flag=True, help="Only Kafka's own words on stderr."),
)
_OFFSETS = (
    click.option("--from-offset", type=int, help="Only what holds this offset or later ones."),
    click.option("--to-offset", type=int, help="Only what holds this offset or earlier ones."),
)
_TIMES = (
    click.option("--from-time", help="Only what may hold this time or later: a date, a date and time (UTC), or milliseconds."),
    click.option("--to-time", help="Only what may hold this time or earlier."),
)
_LOG = (
    *_COMMON,
    *_OFFSETS,
    *_TIMES,
    click.option("--from-position", type=click.IntRange(min=0), help="Start at this byte, or at the next batch behind it."),
    click.option("--deep", "--deep-iteration", "is_deep", is_flag=True, help="List records, not only batches."),
    click.option(
        "--print-data-log", "prints_data", is_flag=True, help="Print keys and values in Kafka's lines, too; implies --deep."
    ),
    click.option("--skip-record-metadata", "skips_metadata", is_flag=True, help="Print nothing but keys and values of records."),
    click.option("--key-decoder", type=click.Choice(["string", "integer", "long"]), default="string", show_default=True),
    click.option("--value-decoder", type=click.Choice(["string", "integer", "long"]), default="string", show_default=True),
    click.option(
        "--keep-going/--no-keep-going",
        default=True,
        show_default=True,
        help="Go on behind damage, or end there with exit code 1.",
    ),
)


def _run(suffix: str, options: dict[str, Any]) -> None:
    sys.exit(list_files(Request(suffix, **options)))


@kdump.command()
@_options(*_LOG)
def log(**options: Any) -> None:
    """List the batches or records of segments (.log).

    PATH is a file, a partition directory, or a pattern in quotes. Damage does not end the listing: the next intact batch is
    found, and every row says whether it is intact, salvaged or damaged.
    """
    _run(file_name.LOG, options)


@kdump.command()
@_options(*_LOG)
def checkpoint(**options: Any) -> None:
    """List the batches or records of KRaft snapshots (.checkpoint), as `kdump log` does."""
    _run(file_name.CHECKPOINT, options)


@kdump.command()
@_options(*_COMMON, *_OFFSETS)
def index(**options: Any) -> None:
    """List offset indexes (.index) and compare them with their logs.

    An entry is damaged if no batch stands where it points, or one that does not hold its offset. The zero tail is left out.
    """
    _run(file_name.OFFSET_INDEX, options)


@kdump.command()
@_options(*_COMMON, *_OFFSETS, *_TIMES)
def timeindex(**options: Any) -> None:
    """List time indexes (.timeindex) and compare them with their logs. The zero tail is left out."""
    _run(file_name.TIME_INDEX, options)


@kdump.command()
@_options(*_COMMON, *_OFFSETS)
def txnindex(**options: Any) -> None:
    """List transaction indexes (.txnindex): the aborted transactions of segments."""
    _run(file_name.TRANSACTION_INDEX, options)


@kdump.command()
@_options(*_COMMON)
def snapshot(**options: Any) -> None:
    """List producer snapshots (.snapshot): what the broker knows of each producer."""
    _run(file_name.PRODUCER_SNAPSHOT, options)


def main(arguments: list[str]) -> int:
    """Run a command; the exit code says how it went."""
    if arguments and not arguments[0].startswith("-") and arguments[0] not in kdump.commands:
        word = arguments[0]
        click.echo(f"kdump: there is no command {word}; for a file: `kdump log {word}` or `kdump --files {word}`", err=True)
        return 2
    try:
        kdump.main(arguments or ["--help"], prog_name="kdump", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        error.show()
        return 2
    except UsageError as error:
        click.echo(f"kdump: {error}", err=True)
        return 2
    except KdumpError as error:
        click.echo(f"kdump: {error}", err=True)
        return 3
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0
