"""A check as a SARIF 2.1.0 log, which code hosts and editors read: each fault of the catalogue is a rule."""

from __future__ import annotations

from urllib.parse import quote

from kdump import __version__
from kdump.checks import catalogue
from kdump.checks.finding import ERROR, INFO, WARNING
from kdump.output.rows.json_text import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.catalogue import FaultKind
    from kdump.checks.finding import FileReport, Finding, Start, Summary
    from kdump.output.text.style import ReportStyle

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {ERROR: "error", WARNING: "warning", INFO: "note"}
_RULE_INDEX = {code: number for number, code in enumerate(catalogue.FAULTS)}
_LOCATED = ("code", "severity", "path", "start", "end", "message")  # columns that SARIF has a place for


class SarifLog:
    """Writes one run. Paths are URIs, relative as they were found; ranges are in bytes; all other columns are `properties`."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._write = write
        self._has_baseline = style.has_baseline
        self._separator = "\n"
        rules = ",\n".join(json_text(_rule(fault)) for fault in catalogue.FAULTS.values())
        driver = f'"name":"kdump","version":{json_text(__version__)},"rules":[\n{rules}]'
        write(f'{{"$schema":"{_SCHEMA}","version":"2.1.0","runs":[{{"tool":{{"driver":{{{driver}}}}},\n"results":[')

    def finding(self, finding: Finding, _group: str, *, is_known: bool) -> None:
        result = _result(finding)
        if self._has_baseline:
            result["baselineState"] = "unchanged" if is_known else "new"
        self._write(self._separator + json_text(result))
        self._separator = ",\n"

    def file(self, report: FileReport, _group: str) -> None:
        pass

    def start(self, start: Start, _group: str) -> None:
        pass

    def end(self, summary: Summary) -> None:
        invocation = {"executionSuccessful": summary.is_complete, "exitCode": summary.exit_code}
        properties = {column.key: getattr(summary, column.name) for column in summary.schema}
        self._write(f'\n],\n"invocations":[{json_text(invocation)}],"properties":{json_text(properties)}}}]}}\n')


def _rule(fault: FaultKind) -> dict[str, object]:
    text = f"{fault.cause[:1].upper()}{fault.cause[1:]}. Kafka: {fault.kafka}. Lost: {fault.loss}. To do: {fault.remedy}."
    return {
        "id": fault.code,
        "shortDescription": {"text": f"{fault.title[:1].upper()}{fault.title[1:]}"},
        "fullDescription": {"text": text},
        "help": {"text": text},
        "defaultConfiguration": {"level": _LEVELS[fault.severity]},
        "properties": {"brokerForecast": fault.forecast, "see": list(fault.see)},
    }


def _result(finding: Finding) -> dict[str, object]:
    columns = {column.key: getattr(finding, column.name) for column in finding.schema if column.name not in _LOCATED}
    location = {
        "artifactLocation": {"uri": uri(finding.path)},
        "region": {"byteOffset": finding.start, "byteLength": finding.end - finding.start},
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": _RULE_INDEX[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
        "properties": {key: value for key, value in columns.items() if value is not None},
    }


def uri(path: str) -> str:
    """A path as a URI, relative if it is; its bytes as they are."""
    text = quote(path.encode("utf-8", "surrogateescape"))
    return "file://" + text if path.startswith("/") else text
