"""What is made of packages that cannot be loaded."""

import errno
import os

import pytest

from kdump.binary.loading import loading
from kdump.errors import OutOfMemory, Unreadable

LACKS_MEMORY = (
    ImportError("libarrow.so.2600: failed to map segment from shared object"),
    ImportError("libz.so.1: cannot allocate memory in static TLS block"),
    *(MemoryError(), OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), SystemError("error return without exception set")),
)


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        *((error, OutOfMemory, "while loading the package arrows") for error in LACKS_MEMORY),
        (
            ImportError("x.so: Too many open files"),
            Unreadable,
            r"the package arrows cannot be loaded: x\.so: Too many open files",
        ),
        (ModuleNotFoundError("arrows"), ModuleNotFoundError, "arrows"),
    ],
    ids=str,
)
def test_only_a_package_that_is_missing_is_missing(error: Exception, expected: type[Exception], words: str) -> None:
    with pytest.raises(expected, match=f"^{words}$"), loading("arrows"):
        raise error
