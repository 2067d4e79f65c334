"""What `kdump --version` prints."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

from kdump import __version__
from kdump.binary import kernel

_PACKAGES = ("click", "cramjam", "crc32c", "lz4", "python-snappy", "rich", "zstandard", "isal")


def version_text(*, is_verbose: bool) -> str:
    """The version; in a verbose form also the kernel, the Python and the packages in use, a line each."""
    lines = [f"kdump {__version__}"]
    if is_verbose:
        lines += [f"kernel: {kernel.name} ({kernel.reason})", f"Python: {sys.version.split()[0]} on {platform.platform()}"]
        lines += [f"{package}: {_version_of(package)}" for package in _PACKAGES]
    return "\n".join(lines)


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
