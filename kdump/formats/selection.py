"""Which partitions of log directories are meant: those of some topics, with some numbers."""

from __future__ import annotations

from kdump.errors import UsageError
from kdump.formats import tree
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


class Selection(Declared):
    """Topics by globs, and numbers of partitions; without globs every topic is meant, and with None every number."""

    globs: Sequence[str] = ()
    numbers: Collection[int] | None = None

    @classmethod
    def of_texts(cls, topics: str | None, partitions: str | None, name: str = "--partitions") -> Selection:
        """Of globs with commas between them, and of numbers such as `0,4-7`, which a UsageError calls by `name`."""
        return cls(_words(topics), _numbers(name, partitions))

    @property
    def is_all(self) -> bool:
        """Whether every partition is meant."""
        return not self.globs and self.numbers is None

    def has(self, topic: str | None, partition: int | None) -> bool:
        """Whether a partition is meant; None is what nobody knows, and meant only where all are."""
        if self.globs:
            from fnmatch import fnmatchcase  # slow to load

            if not any(fnmatchcase(topic or "", glob) for glob in self.globs):
                return False
        return self.numbers is None or partition in self.numbers

    def chosen(self, directories: Sequence[str]) -> list[str]:
        """Those partition directories that are meant. Raises UsageError if there are some, and none of them is."""
        found = [path for path in directories if self.is_all or _is_meant(path, self)]
        if directories and not found:
            count = len(directories)
            what = f"{directories[0]} is not" if count == 1 else f"none of {count:,} partitions is"
            raise UsageError(f"{what} of these topics with these numbers", remedy="`kdump info` lists what is there")
        return found


EVERYTHING = Selection()
"""Every partition."""


def selected(given: Sequence[str], topics: str | None, partitions: str | None, *, has_going: bool = True) -> list[str]:
    """The paths that match patterns, each once; with topics or partitions, what is meant of the partitions and files below.

    `topics` are globs with commas between them, `partitions` numbers and ranges such as `0,4-7`. A directory that cannot be
    listed stays, so that its reader says why. Without `has_going`, directories below that brokers no longer serve are left out.
    Raises UsageError if nothing matches.
    """
    paths = tree.matching(given)
    selection = Selection.of_texts(topics, partitions)
    if selection.is_all:
        return paths
    found = [
        below
        for path in paths
        for kind, below, unlisted in tree.places_below(path)
        if kind != tree.LOG_DIRECTORY
        if unlisted or _is_meant(below, selection) and (has_going or below == path or not _is_going(below))
    ]
    if not found:
        wanted = " ".join(f"{name} {text}" for name, text in (("--topics", topics), ("--partitions", partitions)) if text)
        raise UsageError(f"no partition in {', '.join(given)} fits {wanted}")
    return list(dict.fromkeys(found))


def _words(text: str | None) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def _numbers(name: str, text: str | None) -> frozenset[int] | None:
    """Numbers and ranges of them, such as `0,4-7`; None for no text. Raises UsageError, which calls them by `name`."""
    numbers: set[int] = set()
    for word in _words(text):
        first, dash, last = word.partition("-")
        try:
            found = range(int(first), int(last if dash else first) + 1)
        except ValueError:
            found = range(0)
        if not found:
            raise UsageError(f"{name} is like 0,4-7, not {word!r}")
        numbers.update(found)
    return frozenset(numbers) or None


def partitions_below(path: str) -> Iterator[str]:
    """The partition directories below a path, or the file that it is; and directories that cannot be listed."""
    return (place for kind, place, _ in tree.places_below(path) if kind != tree.LOG_DIRECTORY)


def _is_meant(path: str, selection: Selection) -> bool:
    """Whether the partition at a path is meant, or the one whose directory a file is in."""
    name = tree.directory_name(path) or tree.directory_name(tree.parent(path))
    return name is not None and selection.has(name.topic, name.partition)


def _is_going(path: str) -> bool:
    name = tree.directory_name(path)
    return name is not None and name.is_going
