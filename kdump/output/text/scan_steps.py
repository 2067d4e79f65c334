"""The commands to type after a scan: what was found is examined, and kept before a broker follows another one."""

from __future__ import annotations

import os

from kdump.checks.catalogue import STARTS
from kdump.checks.finding import ERROR, INFO
from kdump.output.text.steps import Steps, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

REPLICA_BEHIND, REPLICA_DIVERGENCE = "replica-behind", "replica-divergence"
BETWEEN_REPLICAS = (REPLICA_DIVERGENCE, "replica-missing-batches", "replica-epoch-divergence", REPLICA_BEHIND)
_MOST_PLACES = 3  # of findings that have a command
_MOST_PATHS = 8  # of the command line that are repeated in one


def scan_steps(findings: Iterable[Mapping[str, Any]], paths: Sequence[str]) -> Steps:
    """What to type, given findings, the worst first, and the paths that were scanned.

    Of replicas that differ, the copy that a broker would cut is kept first, and `where` says what each has at the offset.
    """
    steps = Steps()
    asked: dict[tuple[str, int], None] = {}
    examined: dict[str, None] = {}
    of_log_directories = False
    for finding in findings:
        directory = finding["path"] if finding["code"] in STARTS else os.path.dirname(finding["path"])
        if finding["code"] in BETWEEN_REPLICAS:
            place = finding["topic"], finding["partition"]
            offset = finding["offsetFirst"]
            if offset is None or len(paths) > _MOST_PATHS or place in asked or len(asked) == _MOST_PLACES:
                continue
            asked[place] = None
            if finding["code"] == REPLICA_DIVERGENCE:
                steps.save(directory)
            question = shell_word(f"{place[0]}-{place[1]}@{offset}")
            about = "the first record that it lacks" if finding["code"] == REPLICA_BEHIND else "which copy has it"
            steps.look(f"kdump where {question} {' '.join(map(shell_word, paths))}", f"{finding['code']}: {about}")
        elif finding["severity"] != INFO and finding["topic"] is not None and directory not in examined:
            if len(examined) < _MOST_PLACES:
                what = "what to do" if finding["severity"] == ERROR else "what it means"
                steps.look(f"kdump check {shell_word(directory)}", f"{finding['code']}, and {what}")
            examined[directory] = None
        elif finding["severity"] == ERROR and finding["topic"] is None and not of_log_directories and len(paths) <= _MOST_PATHS:
            of_log_directories = True
            steps.look(f"kdump check {' '.join(map(shell_word, paths))}", f"{finding['code']}, and what to do")
    if len(examined) > _MOST_PLACES:
        steps.note(f"and {len(examined) - _MOST_PLACES:,} more partitions to check")
    return steps
