"""The options of `kdump reindex`."""

from __future__ import annotations

from kdump.cli.options import DIRECTORIES, CommandOptions, argument, text, texts
from kdump.cli.shared_options import CSV_FORMULAS, NICE, RATE, output_option
from kdump.mending.settings import CONFIG, KINDS

FORMS = ("text", "ndjson", "json", "csv", "table")


class ReindexOptions(CommandOptions):
    """What `kdump reindex` takes."""

    path: str = argument("PATH", is_required=True, completes=DIRECTORIES)
    out: str | None = text(
        "-o", "The new directory; it must not exist yet, nor lie inside PATH.", metavar="DIR", completes=DIRECTORIES
    )
    only: str = text(
        "--only",
        f"Rebuild only these companions, and clone the others as they are: {', '.join(KINDS)}.",
        default="",
        metavar="NAME,...",
        completes=list(KINDS),
    )
    config: tuple[str, ...] = texts(
        "--config",
        f"A setting of the broker or topic: {', '.join(CONFIG)}.",
        metavar="NAME=VALUE",
        completes=[f"{name}=" for name in CONFIG],
    )
    output: str = output_option(FORMS, "text is for people; the others are for programs.")
    csv_formulas: str = CSV_FORMULAS
    is_nice: bool = NICE
    rate: str = RATE
