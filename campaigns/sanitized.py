"""Runs the campaigns against the C kernel, built with AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m campaigns.sanitized --seconds 900 --seed 7

The build and a copy of the package are in a temporary folder; the checkout is not changed. Half of the time goes to hostile
arguments (campaigns.hostile), half to damaged files (campaigns.kernels).

    python -m campaigns.sanitized --arm64

Compiles the kernel for ARM64 instead, and compares its implementations of CRC-32C in an emulator. Debian has the cross compiler
and the emulator as gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user or qemu-user-static.
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
COMPILER = "aarch64-linux-gnu-gcc"
EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")
PROCESSORS = ("cortex-a57", "max")

PROGRAM = f"""
#include "{ROOT / SOURCE}"
#include <stdio.h>
#include <stdlib.h>

int main(void)
{{
    static uint8_t data[30000];
    long compared = 0, wrong = 0;
    for (size_t at = 0; at < sizeof data; at++)
        data[at] = (uint8_t)rand();
    choose_checksums();
    for (int way = 1; way < crc32c_way_count; way++)
        for (size_t size = 0; size < 20000; size += size < 3000 ? 1 : 97)
            for (uint32_t start = 0; start < 9; start += 4, compared++)
                wrong += crc32c_ways[way](~start, data + start, size) != crc32c_by_table(~start, data + start, size);
    uint32_t check = ~crc32c_of(~0u, (const uint8_t *)"123456789", 9); /* its value is in every catalogue of CRCs */
    printf("by %s: %ld compared with tables, %ld differ\\n", crc32c_names[crc32c_way_count - 1], compared, wrong);
    return wrong || !compared || check != 0xe3069283;
}}
"""


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


def compare_on_arm64() -> int:
    """Compile and compare; return 1 if something differs, 2 if the compiler or emulator is missing."""
    emulator = next(filter(shutil.which, EMULATORS), None)
    if emulator is None or shutil.which(COMPILER) is None:
        print(f"there is no {COMPILER}, or none of {', '.join(EMULATORS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        module, program = f"{folder}/_kernel.so", f"{folder}/compare"
        command = [COMPILER, "-O3", "-std=gnu11", *WARNINGS, "-fPIC", "-shared", *INCLUDE, str(ROOT / SOURCE), "-o", module]
        subprocess.run(command, check=True)
        # no function of Python is called, and none is available
        linking = ("-static", "-Wl,--unresolved-symbols=ignore-all", "-w")
        command = [COMPILER, "-O2", "-x", "c", "-", *INCLUDE, *linking, "-o", program]
        subprocess.run(command, input=PROGRAM, text=True, check=True, stderr=subprocess.DEVNULL)
        results = [subprocess.run([emulator, "-cpu", processor, program], check=False).returncode for processor in PROCESSORS]
    return int(any(results))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and run both campaigns for the given time; or compare on ARM64."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arm64", action="store_true", help="compare checksums on ARM64")
    options = parser.parse_args(arguments)
    if options.arm64:
        return compare_on_arm64()
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
