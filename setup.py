"""What pyproject.toml cannot say: the kernel in C, which is left out where it cannot be built, man pages and completions."""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

SOURCES = sorted(glob("kdump/binary/c/**/*.[ch]", recursive=True))
KERNEL = "kdump.binary._kernel"
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # which has no ABI for several versions before 3.15
SHARED = Path("build", "share")
COMPLETIONS = {
    "bash": "bash-completion/completions/kdump",
    "zsh": "zsh/site-functions/_kdump",
    "fish": "fish/vendor_completions.d/kdump.fish",
}
digest = hashlib.sha256(b"".join(Path(source).read_bytes() for source in SOURCES)).hexdigest()


class BuildKernel(build_ext):
    """Builds the kernel or, where that fails, leaves a module that says why, and no kernel of an earlier build."""

    def build_extension(self, ext: Extension) -> None:
        module = Path(self.get_ext_fullpath(ext.name))
        reason = module.with_name("_kernel_missing.py")
        reason.unlink(missing_ok=True)
        try:
            super().build_extension(ext)
        except Exception as error:
            module.unlink(missing_ok=True)
            if not self.inplace:
                reason.parent.mkdir(parents=True, exist_ok=True)
                reason.write_text(f'"""Why the kernel in C was not built."""\n\nREASON = {self._why(error)!r}\n')
            raise

    def _why(self, error: Exception) -> str:
        command = getattr(self.compiler, "compiler_so", None) or ["cc"]
        if shutil.which(command[0]) is None:
            return f"there was no C compiler, {command[0]}"
        if not any(os.path.exists(os.path.join(folder, "Python.h")) for folder in self.include_dirs):
            return "there was no Python.h, which Debian has in python3-dev, others in python3-devel"
        return " ".join(str(error).split())


class BuildWheel(bdist_wheel):
    """A wheel with man pages and completions. Without the kernel, its tag says that it is the same on all platforms.

    A cache does not take it for the wheel with the kernel then, once there is a compiler.
    """

    def run(self) -> None:
        self.distribution.data_files = [*(self.distribution.data_files or []), *shared_files()]
        self.run_command("build")
        if not os.path.exists(self.get_finalized_command("build_ext").get_ext_fullpath(KERNEL)):
            self.root_is_pure = True
            self.py_limited_api = ""
            self.distribution.ext_modules = []
        super().run()


def shared_files() -> list[tuple[str, list[str]]]:
    """Man pages and completions, with the folders that they belong into. None where Click is missing, which knows the options."""
    man = SHARED / "man" / "man1"
    shutil.rmtree(SHARED, ignore_errors=True)
    man.mkdir(parents=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.getcwd(), *sys.path]))}
    environment |= {"KDUMP_KERNEL": "python", "PYTHONDONTWRITEBYTECODE": "1"}
    asked = subprocess.run([sys.executable, "-c", "import click"], env=environment, check=False, stderr=subprocess.DEVNULL)
    if asked.returncode:
        print("without Click, the wheel gets no man pages and no completions", file=sys.stderr)
        return []
    subprocess.run([sys.executable, "-m", "tools.man", str(man)], env=environment, check=True, stdout=subprocess.DEVNULL)
    files = [("share/man/man1", sorted(map(str, man.iterdir())))]
    for shell, name in COMPLETIONS.items():
        path = SHARED / name
        path.parent.mkdir(parents=True)
        command = [sys.executable, "-m", "kdump", "completions", shell]
        path.write_bytes(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
        files.append((f"share/{Path(name).parent}", [str(path)]))
    return files


setup(
    cmdclass={"bdist_wheel": BuildWheel, "build_ext": BuildKernel},
    ext_modules=[
        Extension(
            KERNEL,
            ["kdump/binary/c/_kernel.c"],
            include_dirs=["kdump/binary/c"],
            depends=sorted(glob("kdump/binary/c/*/*.h")),  # its chapters; they come into the sdist by this, too
            define_macros=[
                ("KDUMP_SOURCES", f'"{digest}"'),  # by which tools/kernel.py knows an old build
                *([("KDUMP_FREE_THREADED", "1")] if IS_FREE_THREADED else []),
            ],
            extra_compile_args=["-O3", "-std=c11", "-Wall", "-Wextra"],
            extra_link_args=["-Wl,-S,-x"] if sys.platform == "darwin" else ["-s"],  # symbols are four fifths of it
            py_limited_api=not IS_FREE_THREADED,
            optional=True,
        )
    ],
    options={} if IS_FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
