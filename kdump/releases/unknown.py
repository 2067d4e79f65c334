"""The error for an unknown release, with the nearest releases and all known ones."""

from __future__ import annotations

from kdump.errors import UsageError
from kdump.releases.known import RELEASES
from kdump.releases.timeline import version_of

_DIGITS = "0123456789"


def unknown_release(release: str, where: str = "--release ") -> UsageError:
    """The error for a release that is not in RELEASES; `where` it was given comes first.

    The start of a number is answered with the releases that begin with it: patch releases differ, so none is chosen.
    Any other number is answered with its neighbours and all releases.
    """
    shown = where + (release or "''")
    version = _version_in(release)
    patches = [known for known in RELEASES if version and version_of(known)[: len(version)] == version]
    if patches and ".".join(map(str, version)) not in RELEASES:
        there_are = f"there are {', '.join(patches)}"
        if len(patches) == 1:
            return UsageError(f"{shown} is no full number", remedy=there_are)
        remedy = f"{there_are} (`kdump releases` tells them apart)"
        return UsageError(f"{shown} is no full number, and patch releases differ", remedy=remedy)
    near = " or ".join(_near(version))
    hint = f"did you mean {near}? Known" if near else f"the newest is {RELEASES[-1]}; known"
    return UsageError(f"{shown} is not known", remedy=f"{hint} are {', '.join(RELEASES)}")


def _near(version: tuple[int, ...]) -> list[str]:
    """The release itself if it is only spelled differently, else the next lower and the next higher one."""
    if not version:
        return []
    lower = [known for known in RELEASES if version_of(known) <= version][-1:]
    higher = [known for known in RELEASES if version_of(known) > version][:1]
    return lower if lower and version_of(lower[0]) == version else lower + higher


def _version_in(text: str) -> tuple[int, ...]:
    """The longest dotted number in a text: 2, 0, 1 in `v2.0.1`, `2.0.1-rc0` and `kafka_2.13-2.0.1`."""
    words = "".join(letter if letter in _DIGITS + "." else " " for letter in text).split()
    numbers = [tuple(int(number) for number in word.split(".") if number) for word in words if len(word) < 40]
    return max(numbers, key=len, default=())
