"""What a wheel and an sdist of kdump contain, and what is said where the kernel in C could not be built."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary import kernel
from kdump.cli import main as command
from kdump.cli.command_names import COMMANDS
from tests.support import HANG
from tools import kernel as building

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git knows of this checkout."""
    folder = tmp_path_factory.mktemp("checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "kdump", "tools", "bin", "*.*"]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if listed.returncode:
        pytest.skip("not in a checkout of git")
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if path.is_file() and (len(Path(name).parts) == 1 or name.startswith(("kdump/", "tools/", "bin/", "tests/test_"))):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(path.read_bytes())
    (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    return folder


def _wheel(checkout: Path, out: Path, **environment: str) -> Path:
    if not building._has_setuptools():
        pytest.skip("setuptools is missing or too old")
    shutil.rmtree(checkout / "build", ignore_errors=True)  # or else what was built before is taken again
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
    done = subprocess.run(
        [*pip, "--wheel-dir", str(out), str(checkout)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as opened:
        return opened.namelist()


@pytest.mark.slow
@pytest.mark.all_cases
def test_a_wheel_has_the_kernel_man_pages_and_completions_and_no_sources(checkout: Path, tmp_path: Path) -> None:
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        pytest.skip("no Python.h")
    wheel = _wheel(checkout, tmp_path)
    assert re.fullmatch(r"kafka_kdump-[\d.]+-cp311-abi3-.*\.whl", wheel.name)
    names = _names(wheel)
    assert "kdump/binary/_kernel.abi3.so" in names
    assert "kdump/py.typed" in names
    of_pages = ("page.css", "page.js", "uplot.css", "uplot.js", "uplot.license.txt")
    assert {f"kdump/output/html/{name}" for name in of_pages} < {*names}
    assert [name for name in names if name.endswith((".c", ".h")) or name.startswith(("tests/", "tools/"))] == []
    shared = {name.partition(".data/data/share/")[2] for name in names if ".data/data/" in name}
    assert shared == {
        "bash-completion/completions/kdump",
        "zsh/site-functions/_kdump",
        "fish/vendor_completions.d/kdump.fish",
        "man/man1/kdump.1",
        *(f"man/man1/kdump-{name}.1" for name in COMMANDS),
    }
    with zipfile.ZipFile(wheel) as opened:
        assert opened.getinfo("kdump/binary/_kernel.abi3.so").file_size < 500_000  # without symbols
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        assert Parser().parsestr(opened.read(metadata).decode())["Name"] == "kafka-kdump"


@pytest.mark.slow
def test_a_wheel_without_the_kernel_is_for_any_platform_and_says_why(checkout: Path, tmp_path: Path) -> None:
    wheel = _wheel(checkout, tmp_path, CC="no-compiler")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = _names(wheel)
    assert [name for name in names if name.endswith(".so")] == []
    assert any(name.endswith("share/man/man1/kdump.1") for name in names)
    folder = tmp_path / "installed"
    shutil.unpack_archive(wheel, folder, "zip")
    code = "from kdump.binary import kernel; print(kernel.reason)"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    environment.pop("KDUMP_KERNEL", None)
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "the kernel in C was not built (there was no C compiler, no-compiler)\n"


@pytest.mark.slow
def test_an_sdist_has_what_a_wheel_is_built_from_and_no_tests(checkout: Path, tmp_path: Path) -> None:
    if not building._has_setuptools():
        pytest.skip("setuptools is missing or too old")
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=checkout, check=True, capture_output=True, timeout=HANG)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {name for name in names if name.startswith("tests")} == set()
    sources = {path.relative_to(ROOT).as_posix() for path in building.SOURCES.glob("*.[ch]")}
    assert names >= {*sources, "setup.py", "tools/man.py", "tools/docs.py", "bin/kdump", "LICENSE", "kdump/py.typed"}


def _said(capsys: pytest.CaptureFixture[str], *, reason: str, is_terminal: bool, seconds: float) -> str:
    times = os.times_result((seconds / 2, 0, seconds / 2, 0, 0))
    with (
        mock.patch.object(kernel, "reason", reason),
        mock.patch.object(os, "isatty", return_value=is_terminal),
        mock.patch.object(os, "times", return_value=times),
    ):
        command._say_why_slow()
    return capsys.readouterr().err


def test_a_slow_command_says_on_a_terminal_why_it_has_no_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    reason = f"{kernel.NOT_BUILT} (there was no C compiler, gcc)"
    expected = (
        "kdump: this took long, for the kernel in C was not built (there was no C compiler, gcc); with it, kdump takes a "
        "fraction of the time: docs/install.md says how to get it\n"
    )
    assert _said(capsys, reason=reason, is_terminal=True, seconds=60) == expected
    assert _said(capsys, reason=reason, is_terminal=False, seconds=60) == ""
    assert _said(capsys, reason=reason, is_terminal=True, seconds=1) == ""
    assert _said(capsys, reason="KDUMP_KERNEL says so", is_terminal=True, seconds=60) == ""
    assert _said(capsys, reason="it was built; CRC-32C by table", is_terminal=True, seconds=60) == ""
