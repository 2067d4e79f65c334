"""Says how a package that is missing is installed, beside the kdump that runs."""

from __future__ import annotations

import os
import sys

DISTRIBUTION = "kafka-kdump"
"""The name of kdump in package indexes, where `kdump` is another project."""


def how_to_install(package: str, extra: str = "") -> str:
    """The remedy for a missing package: a command that people can copy, and the extra of kdump that has it, if one has.

    `package` is a name in package indexes, with its range of versions where not every version will do.
    """
    if is_self_contained():
        wanted = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
        return f"this self-contained build of kdump has none; an installed {wanted} has"
    quoted = package if package.replace("-", "").isalnum() else f"'{package}'"
    of_extra = f" (it is in {DISTRIBUTION}[{extra}])" if extra else ""
    return f"{_command()} {quoted}{of_extra}"


def is_self_contained() -> bool:
    """Whether this kdump brings its own Python and packages, to which none can be added."""
    return hasattr(sys, "frozen")


def _command() -> str:
    """What installs a package into the environment of this process; tools of uv and pipx have environments without pip."""
    if os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        return f"uv pip install --python {sys.prefix}"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {os.path.basename(sys.prefix)}"
    return "pip install"
