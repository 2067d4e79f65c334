"""The notation of questions: SQL that Spark and DuckDB both understand.

Names that are keywords in either are quoted with backticks. Offsets are added with `try_add` and `try_subtract` (damaged ones
are near 2^63), and texts made with `printf`. `kdump.pipeline.fleet.local` adds the functions that DuckDB lacks, and quotes names
as it does.
"""

from __future__ import annotations

from kdump.checks.catalogue import FAULTS
from kdump.checks.finding import EXACT, NONE
from kdump.output.arrow.rows import TABLES
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kdump.tables import Column, Row

    Sources = Mapping[str, Sequence[str]]

_FINDING = ("code", "severity", "fileType", "start", "end", "offsetFirst", "offsetLast", "expected", "found", "message")
PLACE = ("broker", "topic", "partition", "segmentBase", "path")
"""The columns that say where a row is from."""
_NO_STEPS: Mapping[str, str] = {}


class Query(Declared):
    """A question: the columns of the tables it reads, its text, and its result rows.

    In the text, `{batches}` stands for the table of that name. A result row has the columns of `row_classes`, in that order.
    `steps` are questions with short answers, which are tables for the later steps and for the text.
    """

    name: str
    columns: Sources
    text: str
    row_classes: Sequence[type[Row]]
    steps: Mapping[str, str] = _NO_STEPS

    @property
    def result(self) -> tuple[Column, ...]:
        """The columns of the result."""
        found = {column.name: column for row_class in self.row_classes for column in row_class.schema}
        return tuple(found.values())


def findings(name: str, columns: Sources, text: str, steps: Mapping[str, str] = _NO_STEPS) -> Query:
    """A question whose answers are findings.

    `text` must select the place of each finding, and its code, severity (null for the catalogue's), fileType, start, end,
    offsetFirst, offsetLast, expected, found, message. The other columns are the same for all findings of a fleet.
    """
    own = ", ".join(f"`{column}`" for column in (*PLACE, *_FINDING) if column != "severity")
    codes = sorted(code for code in FAULTS if f"'{code}'" in text)
    severities = " ".join(f"WHEN '{code}' THEN '{FAULTS[code].severity}'" for code in codes)
    forecasts = " ".join(f"WHEN '{code}' THEN '{FAULTS[code].forecast}'" for code in codes)
    whole = f"""
SELECT {own}, coalesce(severity, CASE code {severities} END) AS severity,
  '{EXACT}' AS offsetCertainty, NULL AS evidence, 1 AS alignment, '{NONE}' AS resync, 0 AS skipped,
  CASE code {forecasts} END AS brokerForecast
FROM ({text})
"""
    return Query(name, columns, whole, TABLES["findings"], steps)


def counted(count: str, singular: str, plural: str = "") -> str:
    """An expression for a number with its noun, as `kdump.checks.wording.counted` says it."""
    return f"CASE WHEN {count} = 1 THEN '1 {singular}' ELSE printf('%,d {plural or singular + 's'}', {count}) END"


def broker_name(column: str, word: str = "broker") -> str:
    """An expression for the name of a broker in a sentence, after `word` unless the name already says that."""
    return f"CASE WHEN lower({column}) LIKE 'broker%' THEN {column} ELSE '{word} ' || {column} END"


def offset_range(first: str, last: str) -> str:
    """An expression for one offset or several, as `kdump.checks.wording.offset_range` says them."""
    several = f"printf('offsets %,d to %,d', {first}, {last})"
    return f"CASE WHEN {first} = {last} THEN printf('offset %,d', {first}) ELSE {several} END"


def moment(milliseconds: str) -> str:
    """An expression for a timestamp in UTC, to the second, or for its number if it is out of the calendar's range."""
    seconds = f"CAST(({milliseconds} % 86400000 - {milliseconds} % 1000) / 1000 AS INT)"
    day = f"date_from_unix_date(CAST(({milliseconds} - {milliseconds} % 86400000) / 86400000 AS INT))"
    hours = f"CAST(({seconds} - {seconds} % 3600) / 3600 AS INT)"
    minutes = f"CAST(({seconds} % 3600 - {seconds} % 60) / 60 AS INT)"
    text = f"{day} || printf(' %02d:%02d:%02d UTC', {hours}, {minutes}, {seconds} % 60)"
    return f"CASE WHEN {milliseconds} BETWEEN 0 AND 253402300799999 THEN {text} ELSE printf('%d ms', {milliseconds}) END"


def seconds(milliseconds: str) -> str:
    """An expression for the whole seconds in a difference of timestamps that is not negative."""
    return f"CAST(({milliseconds} - ({milliseconds}) % 1000) / 1000 AS BIGINT)"


def is_compared(without: Sequence[str]) -> str:
    """A condition: a row is of none of these replicas, each as BROKER:TOPIC-PARTITION."""
    named = text_list([name.replace("{", "{{").replace("}", "}}") for name in without])
    return f"printf('%s:%s-%d', broker, topic, `partition`) NOT IN {named}" if without else "TRUE"


def text_list(values: Sequence[str]) -> str:
    """Texts between parentheses, for IN; there is always one."""
    return "(" + ", ".join("'" + value.replace("'", "''") + "'" for value in ("", *values)) + ")"
