"""What pyproject.toml cannot say: the kernel in C, which is left out where it cannot be built."""

from glob import glob

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "kdump.binary._kernel",
            ["kdump/binary/c/_kernel.c"],
            depends=sorted(glob("kdump/binary/c/*.h")),  # its chapters; they come into the sdist by this, too
            extra_compile_args=["-O3", "-std=c11", "-Wall", "-Wextra"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
