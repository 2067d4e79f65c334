"""What is made of packages that are missing or cannot be loaded, and what messages say about them."""

import ast
import errno
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdump.binary.installing import DISTRIBUTION, how_to_install
from kdump.binary.loading import loading
from kdump.errors import OutOfMemory, Unreadable

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
UNDECLARED = ["pandas<3"]  # which only an old PySpark needs


def _messages() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "kdump").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "how_to_install":
                package, *extra = node.args
                where = path.relative_to(ROOT).as_posix()
                names = NAMES.get(where) or [ast.literal_eval(package)]
                yield from ((name, ast.literal_eval(extra[0]) if extra else "") for name in names)


NAMES = {
    "kdump/binary/codecs/packages.py": ["lz4", "python-snappy", "zstandard"],
    "kdump/spark/brief_errors.py": ["pyarrow", "pyspark"],
}
"""The packages of messages that are given them."""


def _declared(extra: str) -> list[str]:
    """The packages that kdump needs, or needs with an extra."""
    requirements = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return [re.split(r"[\[<>=; ]", requirement)[0] for requirement in requirements]


def test_the_distribution_has_the_name_that_messages_give_it() -> None:
    assert PROJECT["name"] == DISTRIBUTION


def test_messages_name_packages_of_the_extra_that_they_name() -> None:
    messages = list(_messages())
    assert len(messages) > 8
    assert [(name, extra) for name, extra in messages if name not in [*_declared(extra), *UNDECLARED]] == []


def test_no_message_has_a_command_of_its_own() -> None:
    by_hand = [path for path in (ROOT / "kdump").rglob("*.py") if re.search(r"pip install|(?<!kafka-)kdump\[", path.read_text())]
    assert [path.name for path in by_hand] == ["installing.py"]


def test_with_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert [how_to_install(one) for one in ("lz4", "python-snappy", "pandas<3")] == [
        *("pip install lz4", "pip install python-snappy", "pip install 'pandas<3'")
    ]
    assert how_to_install("pyarrow", "arrow") == "pip install pyarrow (it is in kafka-kdump[arrow])"
    (tmp_path / "uv-receipt.toml").touch()  # an environment of uv, which has no pip
    expected = f"uv pip install --python {tmp_path} pyarrow (it is in kafka-kdump[arrow])"
    assert how_to_install("pyarrow", "arrow") == expected


def test_in_an_environment_of_pipx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "kafka-kdump"
    home.mkdir()
    (home / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(home))
    assert how_to_install("pyarrow", "arrow") == "pipx inject kafka-kdump pyarrow (it is in kafka-kdump[arrow])"


def test_in_a_self_contained_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert (
        how_to_install("pyarrow", "arrow") == "this self-contained build of kdump has none; an installed kafka-kdump[arrow] has"
    )
    assert how_to_install("lz4") == "this self-contained build of kdump has none; an installed kafka-kdump has"


LACKS_MEMORY = (
    ImportError("libarrow.so.2600: failed to map segment from shared object"),
    ImportError("libz.so.1: cannot allocate memory in static TLS block"),
    *(MemoryError(), OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), SystemError("error return without exception set")),
)


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        *((error, OutOfMemory, "while loading the package arrows") for error in LACKS_MEMORY),
        (
            ImportError("x.so: Too many open files"),
            Unreadable,
            r"the package arrows cannot be loaded: x\.so: Too many open files",
        ),
        (ModuleNotFoundError("arrows"), ModuleNotFoundError, "arrows"),
    ],
    ids=str,
)
def test_only_a_package_that_is_missing_is_missing(error: Exception, expected: type[Exception], words: str) -> None:
    with pytest.raises(expected, match=f"^{words}$"), loading("arrows"):
        raise error
