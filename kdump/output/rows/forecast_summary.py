"""The row that sums up a run of `kdump forecast`, and the totals that it is made from."""

from __future__ import annotations

from kdump.tables import Declared, Float64, Int32, Int64, Row, Text, column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.verdicts.verdict import Verdict


class ForecastSummary(Row, kind="forecast-summary"):
    """The sum of a run of `kdump forecast`: the verdict on all directories, and why."""

    release: Text = column("The release of the broker.")
    directories_not_examined: Int64 = column("How many directories could not be examined.")
    seconds: Float64 = column("How long the run took.")
    exit_code: Int32 = column("The exit code of the command.")
    verdict: Text = column(
        "The verdict, worst first: does not start, loses at start, unreadable, damaged, stuck, not examined; or fine."
    )
    reasons: list[Text] = column("The reasons: a word of the verdict, and the start that it is about.")


class ForecastTotals(Declared):
    """What a run reports at its end: the release, how many directories could not be examined, the verdict.

    `asked` is the release that the user named; `stops` has True if a log directory holds the mark of a clean stop, and False if
    one does not.
    """

    release: str
    asked: str
    failed: int
    seconds: float
    verdict: Verdict
    stops: set[bool]

    def summary(self) -> ForecastSummary:
        """The same as a row."""
        found = self.verdict
        return ForecastSummary(self.release, self.failed, round(self.seconds, 3), found.exit_code, found.text, found.reasons)
