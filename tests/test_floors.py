"""The floors of the design: imports go down, never up or sideways, and the plain tool imports little."""

import ast
import functools
import graphlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kdump

from .builders.files import write_partition
from .builders.records import batch, message, message_set, record
from .kernels import why_no_c

PACKAGE = Path(kdump.__file__).parent

FLOORS = {
    name: floor
    for floor, names in enumerate(
        (
            *("errors exit_codes tables", "binary", "formats workers", "messages reading", "schemas decoders releases"),
            *("checks decoding", "forecasts", "verdicts", "mending overview", "output", "dropin pipeline"),
            *("searching spark", "cli library"),
        )
    )
    for name in names.split()
}
"""The floor of each package, from the lowest on."""


class Import(NamedTuple):
    """An import of one module of kdump by another; `is_for_types` if only a type checker follows it."""

    importing: str
    imported: str
    is_for_types: bool

    @property
    def places(self) -> tuple[str, str]:
        return self.importing.split(".")[1], self.imported.split(".")[1]

    @property
    def goes_down(self) -> bool:
        """Whether it stays in its package or goes to a lower floor."""
        importing, imported = self.places
        return importing == imported or FLOORS[imported] < FLOORS[importing]


def _name_of(path: Path) -> str:
    return ".".join(["kdump", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {_name_of(path) for path in PACKAGE.rglob("*.py")}


def _imports() -> Iterator[Import]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = _name_of(path)
        if name not in ("kdump", "kdump.__main__"):
            yield from _imports_in(ast.parse(path.read_text()), name, False)


def _imports_in(node: ast.AST, name: str, is_for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        guarded = is_for_types or isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if isinstance(child, ast.ImportFrom) and child.module is not None and child.level == 0:
            names = [f"{child.module}.{alias.name}" for alias in child.names]
            modules = [full if full in MODULES or child.module == "kdump" else child.module for full in names]
            yield from (Import(name, module, guarded) for module in modules if module.startswith("kdump."))
        elif isinstance(child, ast.Import):
            yield from (Import(name, alias.name, guarded) for alias in child.names if alias.name.startswith("kdump."))
        else:
            yield from _imports_in(child, name, guarded)


@functools.cache
def _all_imports() -> list[Import]:
    return [found for found in _imports() if found.imported.split(".")[1] != "__version__"]


def _upward(*, is_for_types: bool) -> list[str]:
    wrong = [found for found in _all_imports() if found.is_for_types == is_for_types and not found.goes_down]
    return sorted({f"{found.importing} imports {found.imported}" for found in wrong})


def test_every_package_has_a_floor() -> None:
    places = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert places - set(FLOORS) <= {"__init__", "__main__"}
    assert len(_all_imports()) > 50


@pytest.mark.parametrize("is_for_types", [False, True])
def test_imports_go_down_also_those_for_types(is_for_types: bool) -> None:
    assert _upward(is_for_types=is_for_types) == []


def test_no_modules_import_each_other() -> None:
    """There is no circle of imports, not even of those for types or inside functions."""
    graph: dict[str, set[str]] = {}
    for found in _all_imports():
        if found.imported in MODULES and found.imported != found.importing:
            graph.setdefault(found.importing, set()).add(found.imported)
    assert len(graph) > 100
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError with the modules of a circle


def test_only_releases_forecasts_and_the_doors_know_releases() -> None:
    importing = {found.places[0] for found in _all_imports() if found.places[1] == "releases" and not found.is_for_types}
    assert importing <= {"releases", "forecasts", "output", "dropin", "cli", "spark"}


HEAVY = {"click", "rich", "numpy", "pyarrow", "pyspark", "dataclasses", "typing", "re", "crc32c", "zstandard", "snappy", "lz4"}


def _imported_by(arguments: list[str]) -> set[str]:
    """The modules that a run imports beyond those of an empty program."""

    def trace(*command: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *command],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        )
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip() for line in lines}

    return trace("-m", "kdump", *arguments) - trace("-c", "pass")


@pytest.mark.parametrize("options", [[], ["--deep-iteration"], ["--print-data-log"]], ids=["shallow", "deep", "data"])
@pytest.mark.parametrize("magic", [1, 2])
def test_a_dump_of_one_batch_imports_no_module_that_is_slow_to_import(tmp_path: Path, options: list[str], magic: int) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(value=b"v")]) if magic == 2 else message_set(messages=[message(value=b"v")]))
    imported = _imported_by([*options, "--files", str(path)])
    assert {name for name in imported if name.split(".")[0] in HEAVY} == set()
    assert "kdump.formats.log" in imported


def test_a_check_of_sound_files_imports_no_module_that_is_slow_to_import(sound: str) -> None:
    imported = _imported_by(["check", sound])
    slow = HEAVY - {"re"} | {"datetime", "pickle", "textwrap"}  # leader epochs are read with re
    assert {name for name in imported if name.split(".")[0] in slow} == {"typing"}  # of the forecast, which has named tuples
    assert not any(name.startswith(("kdump.decoders.consumer", "kdump.cli.click_parser")) for name in imported)
    assert "kdump.checks.catalogue.all_faults" not in imported
    assert "kdump.checks.rules.indexes.offset_index" in imported
    if why_no_c() is None:
        assert "ctypes" not in imported  # for the worker to end with its parent


@pytest.fixture
def sound(tmp_path: Path) -> str:
    batches = [batch(records=[record(value=b"v" * 5000)], base_offset=offset) for offset in range(2)]
    return str(write_partition(tmp_path, topic="a", segments={0: batches}))


@pytest.mark.parametrize("arguments", ["log --deep --output ndjson", "check", "index --output csv"])
def test_commands_without_spark_import_neither_spark_nor_arrow(sound: str, arguments: str) -> None:
    imported = _imported_by([*arguments.split(), sound])
    assert {name for name in imported if name.split(".")[0] in ("pyarrow", "pyspark", "py4j", "numpy", "pandas")} == set()
    assert {name for name in imported if name.startswith(("kdump.pipeline", "kdump.spark", "kdump.output.arrow"))} == set()


def test_a_shallow_dump_leaves_records_decoders_and_indexes_alone(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(value=b"v")]))
    imported = _imported_by(["--files", str(path)])
    assert not imported & {"kdump.messages.schema", "kdump.dropin.time_comparison", "kdump.releases.exception_texts"}
    assert not {name for name in imported if name.startswith("kdump.binary.codecs.")}
