"""The options of `kdump explain`, `kdump schema`, `kdump releases` and `kdump completions`."""

from __future__ import annotations

from kdump.cli.options import CODES, RELEASES, ROWS, CommandOptions, argument, arguments
from kdump.cli.shared_options import FILE, output_option


class ExplainOptions(CommandOptions):
    """What `kdump explain` takes."""

    words: tuple[str, ...] = arguments("[CODE | EXCEPTION | LINES OF A LOG | -]", completes=CODES)
    file: str | None = FILE


class SchemaOptions(CommandOptions):
    """What `kdump schema` takes."""

    name: str | None = argument("[NAME]", completes=ROWS)
    file: str | None = FILE


class ReleasesOptions(CommandOptions):
    """What `kdump releases` takes."""

    releases: tuple[str, ...] = arguments("[RELEASE [RELEASE]]", completes=RELEASES)
    output: str = output_option(("text", "ndjson"), "Text, or one JSON object per row.")
    file: str | None = FILE


class CompletionsOptions(CommandOptions):
    """What `kdump completions` takes."""

    shell: str = argument("{bash|zsh|fish}", is_required=True, choices=("bash", "zsh", "fish"))
    file: str | None = FILE
