"""The same fact under two codes: what a start does because of one file or name, and the start that fails because of it."""

from __future__ import annotations

import os

from kdump.checks.finding import ERROR
from kdump.verdicts.verdict import START_LOSES, ends_all_starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Finding


class ToldStarts:
    """Notes errors that say what a start does to a directory, so that its start is not reported again."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()  # a directory, and what a start does

    def is_told(self, finding: Finding) -> bool:
        """Whether a finding only repeats the error of a file in its directory, or of the name of that. Notes such errors."""
        word = finding.broker_forecast.partition(" ")[0]
        if finding.code == START_LOSES:
            return (finding.path, word) in self._told
        if finding.severity == ERROR and ends_all_starts(finding):
            self._told.update(((finding.path, word), (os.path.dirname(finding.path) or os.curdir, word)))
        return False
