"""Build the kernel in C again after a change to its sources: python -m tools.kernel.

Tests refuse to run with a kernel that was built from other sources.
"""

import hashlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "kdump" / "binary" / "c"
SETUPTOOLS = 77
"""The first version of setuptools that can build kdump, as pyproject.toml has it."""

_ASK = "from kdump.binary import _kernel; print(_kernel.SOURCES)"


def digest() -> str:
    """The SHA-256 of the sources, as setup.py gives it to the kernel."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCES.glob("**/*.[ch]")))).hexdigest()


def why_stale(built_from: str) -> str | None:
    """Why a kernel that was built from sources of this SHA-256 is not to be used; None if it may be, or nobody can tell."""
    if built_from in ("", digest()):
        return None
    return "the kernel in C was built from other sources: build it again with `python -m tools.kernel`"


def build() -> int:
    """Build it in the checkout, by pip. Returns 1 if it could not be built."""
    for module in SOURCES.parent.glob("_kernel*.so"):
        module.unlink()  # or else setuptools may take it for new, and no compiler would leave the old one
    isolation = ["--no-build-isolation"] if _has_setuptools() else []
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *isolation, "--editable", str(ROOT)]
    if subprocess.run(command, check=False).returncode:
        return 1
    asked = subprocess.run([sys.executable, "-c", _ASK], cwd=ROOT, capture_output=True, text=True, check=False)
    if asked.stdout.strip() != digest():
        print(f"the kernel was not built; `{' '.join(command)} --verbose` shows why", file=sys.stderr)
        return 1
    print("built the kernel in C")
    return 0


def _has_setuptools() -> bool:
    """Whether setuptools is there and new enough; pip fetches it otherwise."""
    try:
        return int(metadata.version("setuptools").partition(".")[0]) >= SETUPTOOLS
    except metadata.PackageNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(build())
