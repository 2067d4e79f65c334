"""The names of the commands, and whether a command line has one of them or the options of Kafka's tool."""

from __future__ import annotations

COMMANDS = {
    "log": "kdump.cli.listing.options.LogOptions",
    "index": "kdump.cli.listing.options.OffsetRangeOptions",
    "timeindex": "kdump.cli.listing.options.TimeRangeOptions",
    "txnindex": "kdump.cli.listing.options.OffsetRangeOptions",
    "snapshot": "kdump.cli.listing.options.ListingOptions",
    "checkpoint": "kdump.cli.listing.options.LogOptions",
    "info": "kdump.cli.looking.options.InfoOptions",
    "triage": "kdump.cli.looking.options.TriageOptions",
    "map": "kdump.cli.looking.options.MapOptions",
    "report": "kdump.cli.looking.options.ReportOptions",
    "check": "kdump.cli.checking.options.CheckOptions",
    "forecast": "kdump.cli.forecasting.options.ForecastOptions",
    "scan": "kdump.cli.scanning.options.ScanOptions",
    "grep": "kdump.cli.searching.options.GrepOptions",
    "where": "kdump.cli.searching.options.WhereOptions",
    "recover": "kdump.cli.mending.options.RecoverOptions",
    "reindex": "kdump.cli.mending.options.ReindexOptions",
    "slice": "kdump.cli.mending.options.SliceOptions",
    "redact": "kdump.cli.mending.options.RedactOptions",
    "explain": "kdump.cli.screens.options.ExplainOptions",
    "schema": "kdump.cli.screens.options.SchemaOptions",
    "releases": "kdump.cli.screens.options.ReleasesOptions",
    "completions": "kdump.cli.screens.options.CompletionsOptions",
}
"""The commands, each with the class of its options."""


ALIASES = {"completion": "completions", "version": "--version"}
"""What other programs call commands of ours."""


def is_dropin(arguments: list[str]) -> bool:
    """Whether these are options of Kafka's tool; otherwise they start with a command, or ask for a screen of kdump.

    Kafka's tool ignores words before its options, so a misspelled command only counts as one without --files.
    """
    if not arguments or arguments[0] in ("--help", "-h", "--version", "help", *ALIASES):
        return False
    if arguments[0] in COMMANDS or not any(argument.startswith("-") for argument in arguments):
        return False
    names_files = any(argument.startswith("--f") for argument in arguments)
    return arguments[0].startswith("-") or names_files or not near_commands(arguments[0])


def near_commands(word: str) -> list[str]:
    """The command that a word may mean, if there is one. A word that looks like a path means none."""
    if "." in word or "/" in word:
        return []
    from difflib import get_close_matches

    return get_close_matches(word.lower(), COMMANDS, n=1, cutoff=0.6)
