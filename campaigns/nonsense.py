"""Finds sentences that no person would write: those that contradict themselves, and those that show objects of Python."""

import re
from collections.abc import Iterator

_NUMBER = r"-?\d[\d,]*"
_THINGS = "byte|batch|record|offset|entry|message|segment|file|partition|header|transaction|producer|key"
_PLURALS = "bytes|batches|records|offsets|entries|messages|segments|files|partitions|headers|transactions|producers|keys"

_PATTERNS = {
    "says what it should say": r"says (\S+) and should be \1(?![\d,])",
    "a range of one": rf"\b(?:bytes|offsets) ({_NUMBER}) to \1(?![\d,])",
    "a negative count that no file claims": rf"(?<!says it is )(?<!says it has )(?<!says it holds )(?<!says that it has )"
    rf"(?<!off by )(?<!its key is )(?<!its value is )(?<![\w,])-\d(?:[\d,]*\d)? (?:{_PLURALS})\b",
    "one of several": rf"(?<![\d,.-])1 (?:{_PLURALS})\b",
    "several of one": rf"(?<![\d,.-])(?!1 )(?<!of )\d[\d,]* (?:{_THINGS}) (?:is|are|has|have|follows?|cannot)\b",
    "an object of Python": r"\b(?:None(?! of)|nan|inf|True|False)\b|<class|\bobject at 0x|\bb'|\{[a-z_]+\}",
    "a gap": r"\(\)|''|\"\"| ,|,,|:\.|(?<!\.)\.\.(?!\.)",
}


def nonsense(text: str) -> Iterator[str]:
    """What is wrong with a sentence, with the words that are."""
    for what, pattern in _PATTERNS.items():
        found = re.search(pattern, text)
        if found is not None:
            yield f"{what}: {found[0]!r}"
    for first, last in re.findall(rf"\bbytes ({_NUMBER}) to ({_NUMBER})", text):
        if _number(last) < _number(first):
            yield f"a range that ends before it begins: {first} to {last}"


def _number(text: str) -> int:
    return int(text.replace(",", ""))
