"""The releases of Kafka that are known by their names, and the error for any other, with the nearest of them."""

from __future__ import annotations

from kdump.errors import UsageError
from kdump.releases.timeline import version_of

_DIGITS = "0123456789"

RELEASES = (
    "0.8.0",
    "0.8.1",
    "0.8.1.1",
    "0.8.2.0",
    "0.8.2.1",
    "0.8.2.2",
    "0.9.0.0",
    "0.9.0.1",
    "0.10.0.0",
    "0.10.0.1",
    "0.10.1.0",
    "0.10.1.1",
    "0.10.2.0",
    "0.10.2.1",
    "0.10.2.2",
    "0.11.0.0",
    "0.11.0.1",
    "0.11.0.2",
    "0.11.0.3",
    "1.0.0",
    "1.0.1",
    "1.0.2",
    "1.1.0",
    "1.1.1",
    "2.0.0",
    "2.0.1",
    "2.1.0",
    "2.1.1",
    "2.2.0",
    "2.2.1",
    "2.2.2",
    "2.3.0",
    "2.3.1",
    "2.4.0",
    "2.4.1",
    "2.5.0",
    "2.5.1",
    "2.6.0",
    "2.6.1",
    "2.6.2",
    "2.6.3",
    "2.7.0",
    "2.7.1",
    "2.7.2",
    "2.8.0",
    "2.8.1",
    "2.8.2",
    "3.0.0",
    "3.0.1",
    "3.0.2",
    "3.1.0",
    "3.1.1",
    "3.1.2",
    "3.2.0",
    "3.2.1",
    "3.2.2",
    "3.2.3",
    "3.3.0",
    "3.3.1",
    "3.3.2",
    "3.4.0",
    "3.4.1",
    "3.5.0",
    "3.5.1",
    "3.5.2",
    "3.6.0",
    "3.6.1",
    "3.6.2",
    "3.7.0",
    "3.7.1",
    "3.7.2",
    "3.8.0",
    "3.8.1",
    "3.9.0",
    "3.9.1",
    "3.9.2",
    "4.0.0",
    "4.0.1",
    "4.0.2",
    "4.1.0",
    "4.1.1",
    "4.1.2",
    "4.2.0",
    "4.2.1",
    "4.3.0",
    "4.3.1",
    "4.4.0",
)
"""The releases whose output is reproduced, in ascending order; the last is the default."""


def require_known(release: str) -> None:
    """Raises UsageError, with the nearest known releases, if a release is unknown."""
    if release not in RELEASES:
        raise unknown_release(release)


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
