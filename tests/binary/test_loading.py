"""What is made of packages that cannot be loaded."""

import errno
import os

import pytest

from kdump.binary.loading import loading
from kdump.errors import OutOfMemory, Unreadable


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libarrow.so.2600: failed to map segment from shared object"),
        ImportError("libz.so.1: cannot allocate memory in static TLS block"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        SystemError("error return without exception set"),
    ],
)
def test_a_lack_of_memory_is_no_missing_package(error: Exception) -> None:
    with pytest.raises(OutOfMemory, match=r"^while loading the package arrows$"), loading("arrows"):
        raise error


def test_a_package_that_is_there_and_fails_is_not_missing() -> None:
    with pytest.raises(Unreadable, match=r"^the package arrows cannot be loaded: x\.so: Too many open files$"), loading("arrows"):
        raise ImportError("x.so: Too many open files")


def test_a_package_that_is_missing_is_missing() -> None:
    with pytest.raises(ModuleNotFoundError), loading("arrows"):
        __import__("no_such_package_of_arrows")
