"""Compiles the C kernel for ARM64 and compares its implementations of CRC-32C in an emulator.

    python -m campaigns.arm64

Needs a cross compiler and an emulator; Debian has them as gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and
qemu-user or qemu-user-static.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile

from campaigns.sanitized import ROOT, SOURCE, WARNINGS

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


def main() -> int:
    """Compile and compare; return 1 if something differs, 2 if the compiler or emulator is missing."""
    emulator = next(filter(shutil.which, EMULATORS), None)
    if emulator is None or shutil.which(COMPILER) is None:
        print(f"there is no {COMPILER}, or none of {', '.join(EMULATORS)}", file=sys.stderr)
        return 2
    include = [f"-I{sysconfig.get_paths()['include']}", f"-I{ROOT / SOURCE.parent}"]
    with tempfile.TemporaryDirectory() as folder:
        module, program = f"{folder}/_kernel.so", f"{folder}/compare"
        subprocess.run(
            [COMPILER, "-O3", "-std=gnu11", *WARNINGS, "-fPIC", "-shared", *include, ROOT / SOURCE, "-o", module], check=True
        )
        # no function of Python is called, and none is available
        linking = ("-static", "-Wl,--unresolved-symbols=ignore-all", "-w")
        command = [COMPILER, "-O2", "-x", "c", "-", *include, *linking, "-o", program]
        subprocess.run(command, input=PROGRAM, text=True, check=True, stderr=subprocess.DEVNULL)
        results = [subprocess.run([emulator, "-cpu", processor, program], check=False).returncode for processor in PROCESSORS]
    return int(any(results))


if __name__ == "__main__":
    sys.exit(main())
