"""What pyproject.toml cannot say: the kernel in C, which is left out where it cannot be built."""

import hashlib
from glob import glob
from pathlib import Path

from setuptools import Extension, setup

SOURCES = sorted(glob("kdump/binary/c/*.[ch]"))
digest = hashlib.sha256(b"".join(Path(source).read_bytes() for source in SOURCES)).hexdigest()

setup(
    ext_modules=[
        Extension(
            "kdump.binary._kernel",
            ["kdump/binary/c/_kernel.c"],
            depends=sorted(glob("kdump/binary/c/*.h")),  # its chapters; they come into the sdist by this, too
            define_macros=[("KDUMP_SOURCES", f'"{digest}"')],  # by which tools/kernel.py knows an old build
            extra_compile_args=["-O3", "-std=c11", "-Wall", "-Wextra"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
