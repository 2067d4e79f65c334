"""What `kdump explain` should answer to the messages of Kafka's sources.

`kafka_messages.tsv` has the start of each message that is known, `{}` for each value in it, and the answer: the codes of faults,
or the first words of the meaning if it leads to none. They were decided by reading the code around the messages of 2.8.2, 3.9.1,
4.0.0 and 4.3.1. `tests/oracle/test_kafka_tool.py` extracts all messages, and finds answers that are not decided here.
"""

import re
from pathlib import Path

from kdump.checks.catalogue.lines.matching import Explanation

TABLE = Path(__file__).with_suffix(".tsv")
_WORDS = 5


def decided() -> dict[str, str]:
    """The start of each known message, and the answer."""
    return dict(line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines())


def answer_to(shape: str, known: dict[str, str]) -> str:
    """The answer to a message: that of the longest start of it; empty if it is not known."""
    starts = [start for start in known if shape.startswith(start)]
    return known[max(starts, key=len)] if starts else ""


def filled(shape: str, value: str = "7") -> str:
    return re.sub(r"^\{\}(?=[A-Z])", "[Log x] ", shape).replace("{}", value)


def expectation(found: Explanation) -> str:
    """An answer in the notation of the table; empty if the line is not known."""
    return "; ".join(",".join(one.codes) or " ".join(one.meaning.split()[:_WORDS]) for one in found.answers)
