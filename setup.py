"""What pyproject.toml cannot say: the kernel in C, which is left out where it cannot be built."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "kdump.binary._kernel",
            ["kdump/binary/_kernel.c"],
            extra_compile_args=["-O3", "-std=c11", "-Wall", "-Wextra"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
