"""Runs the campaigns against the C kernel, built with AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m campaigns.sanitized --seconds 900 --seed 7

The build and a copy of the package are in a temporary folder; the checkout is not changed. Half of the time goes to hostile
arguments (campaigns.hostile), half to damaged files (campaigns.kernels).
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = Path("kdump", "binary", "c", "_kernel.c")
MODULE = Path("kdump", "binary", "_kernel.abi3.so")
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror")
FLAGS = (
    *("-std=c11", "-O1", "-g", "-fno-omit-frame-pointer", "-fPIC", "-shared"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    *WARNINGS,
)
INCLUDE = (f"-I{sysconfig.get_paths()['include']}", f"-I{ROOT / SOURCE.parent}")


def why_not_available() -> str | None:
    """The reason why nothing can be built with sanitizers here; None if it can."""
    if shutil.which("gcc") is None:
        return "there is no gcc"
    if _runtime() is None:
        return "gcc has no libasan"
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return "there is no Python.h"
    return None


def _runtime() -> str | None:
    path = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    return path if Path(path).is_absolute() else None


def build(folder: Path) -> None:
    """A copy of the package in this folder, with the kernel built with sanitizers; the tests beside it are those here."""
    shutil.copytree(ROOT / "kdump", folder / "kdump", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("tests", "campaigns", "tools", "golden_outputs"):
        (folder / name).symlink_to(ROOT / name)
    subprocess.run(["gcc", *FLAGS, *INCLUDE, SOURCE, "-o", MODULE], cwd=folder, check=True)


def run(folder: Path, module: str, *arguments: str) -> tuple[int, str]:
    """Run a campaign with that build. Returns the exit code and the output."""
    environment = {
        **os.environ,
        "LD_PRELOAD": _runtime() or "",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(folder),
        "ASAN_OPTIONS": "detect_leaks=0:strict_string_checks=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and run both campaigns for the given time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if missing := why_not_available():
        print(missing, file=sys.stderr)
        return 2
    worst = 0
    with tempfile.TemporaryDirectory(prefix="kdump-sanitized-") as name:
        folder = Path(name).resolve()
        build(folder)
        limits = ["--seconds", str(options.seconds / 2), "--seed", str(options.seed)]
        for module, more in (("campaigns.hostile", []), ("campaigns.kernels", ["--count", "1000000000"])):
            code, text = run(folder, module, *limits, *more)
            print(f"{module}: exit code {code}\n{text}", flush=True)
            worst = worst or code
    return worst


if __name__ == "__main__":
    sys.exit(main())
