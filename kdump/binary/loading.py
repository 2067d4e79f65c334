"""Loads packages that are not always installed: what lacks memory, or cannot be read, is not taken for a missing package."""

from __future__ import annotations

from contextlib import contextmanager

from kdump.errors import OutOfMemory, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_OUT_OF_MEMORY = ("failed to map segment", "annot allocate memory", "error return without exception set")
"""In what the dynamic linker says, and in what the interpreter makes of a module whose allocation failed."""


@contextmanager
def loading(package: str) -> Iterator[None]:
    """Within the block a package is imported, which raises ModuleNotFoundError if it is not installed.

    Raises OutOfMemory if memory ends meanwhile, and Unreadable where the package is there, but cannot be loaded.
    """
    try:
        yield
    except ModuleNotFoundError:
        raise
    except (ImportError, OSError, SystemError, MemoryError) as error:
        if lacks_memory(error):
            raise OutOfMemory(f"while loading the package {package}") from error
        raise Unreadable("file-io-error", f"the package {package} cannot be loaded: {error}") from error


def lacks_memory(error: BaseException) -> bool:
    """Whether something failed because memory was short, as far as the error says."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in _OUT_OF_MEMORY)
