"""The forms in which a check is reported: text for people, lines and documents for programs, by the names of `--output`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.output.findings.form import Form
    from kdump.output.text.style import ReportStyle


def form_of(name: str, write: Callable[[str], None], style: ReportStyle) -> Form:
    """The form of this name; its module is loaded only now."""
    if name == "text":
        from kdump.output.text.check.report import TextReport

        return TextReport(write, style)
    if name == "sarif":
        from kdump.output.sarif import SarifLog

        return SarifLog(write, style)
    if name == "junit":
        from kdump.output.junit import JunitReport

        return JunitReport(write, style)
    from kdump.output.findings import rows

    return rows.FORMS[name](write, style)


FORMS = ("text", "ndjson", "csv", "table", "json", "sarif", "junit")
