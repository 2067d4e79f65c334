"""What can go wrong, told apart by a fault code that never changes its meaning."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Self


class KdumpError(Exception):
    """Anything that kdump raises on purpose: what is wrong, where, and what can be done."""

    def __init__(self, message: str, *, path: str | None = None, position: int | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.position = position
        self.remedy = remedy

    def __str__(self) -> str:
        where = ""
        if self.path is not None:
            where = f"{self.path}, byte {self.position}: " if self.position is not None else f"{self.path}: "
        return where + self.message + (f"; {self.remedy}" if self.remedy else "")


class UsageError(KdumpError):
    """The command line asks for something that does not exist."""


def unknown_name(message: str, name: str, known: Collection[str], there_are: str = "there are") -> UsageError:
    """The error for a name that is not one of these, which suggests the most similar ones and then lists all."""
    from difflib import get_close_matches  # only this error needs it

    by_lower = {one.lower(): one for one in known}
    near = " or ".join(by_lower[one] for one in get_close_matches(name.lower(), by_lower, n=2, cutoff=0.6))
    listed = f"{there_are} {', '.join(known)}"
    return UsageError(message, remedy=f"did you mean {near}? {listed[0].upper()}{listed[1:]}" if near else listed)


class MissingPackage(KdumpError):
    """A package that this file needs is not installed."""


class OutOfMemory(MemoryError):
    """Memory ended. The message says what was being done, as "while ..."."""


class Fault(KdumpError):
    """Something that kept us from reading on, named by a code.

    `code` says what it is, `values` are the numbers and words that a message about it may want. What words a person or a
    program sees is decided above: a release of Kafka's tool has its own for each code.

    `row` is the row (of whatever table) that could be read only in part, if there is one, and `through` the last of its fields
    that are sound.
    `variants` are the faults that readers find in its place who look at things in another order, by what they do differently.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        path: str | None = None,
        position: int | None = None,
        row: Any = None,
        through: str = "",
        **values: Any,
    ) -> None:
        self.message, self.path, self.position, self.remedy = message, path, position, ""  # files may have one in each record
        self.code = code
        self.values: dict[str, Any] = values  # numbers and words of any type, for messages only
        self.row = row
        self.through = through
        self.variants: dict[str, Fault] = {}

    def without_frames(self) -> Self:
        """The same, for those who keep it: with frames that it and its causes passed, only a search for garbage frees it."""
        error: BaseException | None = self
        while error is not None:
            error.__traceback__ = None
            error = error.__cause__ or error.__context__
        return self

    def __reduce__(self) -> Any:
        """How it goes to another process: with what the constructor needs, then all else."""
        return type(self), (self.code, self.message), self.__dict__


class CorruptData(Fault):
    """The bytes of a file are not what its format asks for."""


class Unreadable(Fault):
    """The operating system does not give us the file."""
