"""The options of `kdump check`."""

from __future__ import annotations

from kdump.checks.finding import ERROR, SEVERITIES
from kdump.checks.settings import CLEANUP_POLICIES, DEFAULT_LEVEL, FILE_TYPES, LEVELS, MAX_FINDINGS, UNKNOWN
from kdump.cli.options import CODES, FILES, choice, flag, integer, seconds, text, texts
from kdump.cli.shared_options import ReadingOptions, jobs_option, output_option
from kdump.output.check import FORMATS


class CheckOptions(ReadingOptions):
    """What `kdump check` takes. An option named as a field of `kdump.checks.settings.Settings` sets it."""

    level: str = choice(
        "--level",
        LEVELS,
        "quick: headers, lengths, CRCs of batches and index bounds. full: also files compared with one another."
        " deep: also every record.",
        default=DEFAULT_LEVEL,
    )
    fail_on: str = choice(
        "--fail-on", SEVERITIES, "Exit with code 1 for findings of this severity or worse.", default=ERROR, metavar="SEVERITY"
    )
    file_type: str | None = choice(
        "--as", FILE_TYPES, "Check files named on the command line as this type, whatever they are called.", metavar="TYPE"
    )
    ignore: tuple[str, ...] = texts(
        "--ignore", "Leave out these fault codes; globs allowed, such as 'index-*'.", metavar="CODE", completes=CODES
    )
    select: tuple[str, ...] = texts("--select", "Report only these fault codes; globs allowed.", metavar="CODE", completes=CODES)
    is_pedantic: bool = flag("--pedantic", "Also report what is valid and rarely worth knowing.")
    cleanup_policy: str = choice(
        "--cleanup-policy",
        CLEANUP_POLICIES,
        "The topic's cleanup policy; in a compacted topic, offsets may be missing.",
        default=UNKNOWN,
    )
    baseline: str | None = text(
        "--baseline",
        "Do not count findings that are in FILE, the NDJSON output of an earlier run.",
        metavar="FILE",
        completes=FILES,
    )
    max_findings: int = integer(
        "--max-findings",
        "Report at most N findings per code and file, and count the rest.",
        minimum=1,
        default=MAX_FINDINGS,
        shows_default=True,
    )
    max_message_bytes: int = integer(
        "--max-message-bytes", "The largest plausible batch, in bytes.", minimum=1, default=100 << 20, shows_default=True
    )
    time_limit: float | None = seconds("--time-limit", "Stop checking a file after this time.")
    follows_links: bool = flag("--follow-links", "Follow symbolic links that lead out of the tree that is checked.")
    jobs: int = jobs_option("Use N processes")
    output: str = output_option(FORMATS, "text is for people; the others are for programs.")
    shows_all: bool = flag("--all", "Show every finding; do not fold similar ones.")
