"""Which releases kdump has one and the same history for."""

import functools
import re
from types import ModuleType

from kdump.releases import decoder_words, exception_texts, history, known, schemas
from kdump.releases.timeline import version_of

_MODULES: tuple[ModuleType, ...] = (history, exception_texts, decoder_words, schemas)
# These name all releases, for nothing but the screen of --version.
_OTHER_NAMES = ("RELEASES", "COMMITS")
_RELEASE = re.compile(r"\d+\.\d+\.\d+(\.\d+)?")


@functools.cache
def turning_points() -> tuple[str, ...]:
    """The releases with which something changes: all that the history names as the beginning or the end of something."""
    found: set[str] = set()
    seen: set[int] = set()
    for module in _MODULES:
        for name, value in vars(module).items():
            if name not in _OTHER_NAMES and not name.startswith("__"):
                _gather(value, found, seen)
    return tuple(sorted(found, key=version_of))


@functools.cache
def first_alike(release: str) -> str:
    """The first of the releases that kdump prints the same for, but for the screen of `--version`."""
    alike = [other for other in turning_points() if version_of(other) <= version_of(release)]
    return alike[-1] if alike else known.RELEASES[0]


def groups() -> list[list[str]]:
    """All releases, those that kdump prints the same for together."""
    by_first: dict[str, list[str]] = {}
    for release in known.RELEASES:
        by_first.setdefault(first_alike(release), []).append(release)
    return list(by_first.values())


def _gather(value: object, found: set[str], seen: set[int]) -> None:
    if isinstance(value, str):
        if _RELEASE.fullmatch(value):
            found.add(value)
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    inside: list[object] = []
    if isinstance(value, dict):
        inside = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = list(value)
    elif type(value).__module__.startswith("kdump."):
        names = [*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())]
        inside = [getattr(value, name) for name in names]
    for one in inside:
        _gather(one, found, seen)
