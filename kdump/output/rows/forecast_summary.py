"""The row that sums up a run of `kdump forecast`."""

from __future__ import annotations

from kdump.tables import Float64, Int32, Int64, Row, Text, column


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

    # Without an annotation, these are no columns: only the text report uses them.
    asked = ""  # the release that the user named
    stops = frozenset[bool]()  # True if a log directory holds the mark of a clean stop, and False if one does not
