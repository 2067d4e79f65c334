"""Settings of all tests: which are quick, in which process they run, through which kernel."""

import gc
import os
import shutil
import sys
import zlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from kdump.binary import kernel
from tests import kernels, quick
from tests.loops import QUICK_CASES, is_quick, names_modules, samples
from tests.sessions import JAVA_OPTIONS, link_spark, provide_java, why_no_spark
from tests.units import BESIDE_SPARK, TOGETHER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Times vary between machines; what is bounded is measured where it matters. `each` gives each case of a loop fixtures of its own.
settings.register_profile(
    "kdump", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.register_profile("share", settings.get_profile("kdump"), max_examples=30)

# What is printed is as wide as where nobody says how wide, whoever says it: a shell, or pytest-xdist.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)
provide_java()

SHARES = {"test_kdump_prints_what_kafka_prints": (2, 4)}
"""Tests of many cases, and how many there are for one of the default run, in C and in Python. Loops say it themselves: `each`."""

MEMORY = "/dev/shm"
"""A file system in memory, on Linux."""

ENOUGH_MEMORY = 4 << 30
"""How many bytes have to be free there."""

TEMPORARY_ROOT = "PYTEST_DEBUG_TEMPROOT"
"""The variable that tells pytest where `tmp_path` is."""


# --- Which tests


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-cases", action="store_true", help="run every case of tests that otherwise run a share of them")


@pytest.fixture(scope="session")
def all_cases(pytestconfig: pytest.Config) -> bool:
    """Whether a test of very many cases is to run all of them, not a share."""
    return not samples(pytestconfig)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run with each kernel what is marked so."""
    if metafunc.definition.get_closest_marker("both_kernels"):
        names = [f"{name}-kernel" for name in kernels.KERNELS]
        metafunc.parametrize("kernel_in_use", kernels.KERNELS, ids=names, indirect=True, scope="module")


@pytest.hookimpl(tryfirst=True)  # before `-m` is heard
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is quick, leave out what no share includes, and put what needs Spark after all that forks."""
    if samples(config):
        left_out = [item for item in items if not _is_of_share(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_of_share(item)]
    for item in _quick(items):
        item.add_marker("quick")
    items.sort(key=_place)


def pytest_collection_finish() -> None:
    """Keep Python from looking for garbage in what was collected, again and again, also in each fork, which then copies it."""
    gc.collect()
    gc.freeze()


def _is_of_share(item: pytest.Item) -> bool:
    """Whether a test is run where a share of the cases will do."""
    if item.get_closest_marker("all_cases"):
        return False
    is_python = f"[{kernel.PYTHON}-kernel" in item.name and not kernels.why_no_c()
    of = SHARES.get(_test_of(item), (1, 1))[is_python]
    return _number(item) % of == 0


def _quick(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """The items that are quick: of each test of the list a few."""
    found: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if _may_be_quick(item):
            found.setdefault((item.location[0], _test_of(item)), []).append(item)
    for (module, _), of_test in found.items():
        yield from of_test if module == quick.ALL_OF else sorted(of_test, key=_number)[:QUICK_CASES]


def _may_be_quick(item: pytest.Item) -> bool:
    """Whether a test is in the list, and goes through the kernel that kdump takes by itself."""
    module = item.location[0]
    if module != quick.ALL_OF and _test_of(item) not in quick.TESTS.get(module, ()):
        return False
    if any(item.get_closest_marker(name) for name in ("slow", "spark", "oracle")):
        return False
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return parameters.get("kernel_in_use", kernel.C) == kernel.C or bool(kernels.why_no_c())


def _number(item: pytest.Item) -> int:
    return zlib.crc32(item.nodeid.encode())


def _place(item: pytest.Item) -> tuple[int, str]:
    """The stage of a test, and where in it."""
    if _module_of(item) == TOGETHER:
        return -1, item.name.partition("[")[2]  # the case
    if item.get_closest_marker("spark"):
        return 1, ""
    return (2 if _module_of(item) in BESIDE_SPARK else 0), ""


def _module_of(item: pytest.Item) -> str:
    return item.path.stem


def _test_of(item: pytest.Item) -> str:
    return item.name.partition("[")[0]


# --- In which process, and where


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a kernel in C that is not that of the sources, and choose how many examples of a property are tried."""
    if reason := kernels.why_stale():
        raise pytest.UsageError(reason)
    settings.load_profile("share" if samples(config) else "kdump")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Use all cores, where pytest-xdist is there and much is run; `-n` says otherwise.

    There is a process more than cores: the one that runs Spark often waits for it, and may run little else afterwards.
    """
    _keep_byte_code(config)
    _use_memory_for_files()
    if is_quick(config) and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(config.rootpath / module) for module in (quick.ALL_OF, *quick.TESTS)]  # no need to collect others
    given = config.option
    if "PYTEST_XDIST_WORKER" in os.environ or not config.pluginmanager.hasplugin("xdist"):
        return
    if given.numprocesses is None and not given.tx and not _is_narrow(config):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        given.numprocesses = cores + 1
    if given.numprocesses and given.dist == "no":
        given.dist, given.loadscopereorder = "loadscope", False


def _keep_byte_code(config: pytest.Config) -> None:
    """Compile each module once, in the folder of pytest's cache, where Python was asked to keep no byte code.

    Tests start hundreds of processes, and each would compile all of `kdump` again. Without pytest's cache nothing is kept: the
    campaign of mutations changes modules faster than byte code would notice.
    """
    if sys.dont_write_bytecode and config.pluginmanager.hasplugin("cacheprovider"):
        sys.pycache_prefix = str(config.rootpath / config.getini("cache_dir") / "byte-code")
        sys.dont_write_bytecode = False
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _use_memory_for_files() -> None:
    """Keep the files of tests in memory where there is plenty: a disk takes seconds to make and remove thousands of folders."""
    if not os.environ.get(TEMPORARY_ROOT) and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ENOUGH_MEMORY:
        os.environ[TEMPORARY_ROOT] = MEMORY


def _is_narrow(config: pytest.Config) -> bool:
    """Whether a run is of few tests, or for somebody who looks on: worker processes would only delay it."""
    given = config.option
    looks_on = given.usepdb or given.collectonly or given.capture == "no"
    return bool(looks_on or given.keyword or is_quick(config)) or names_modules(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:  # of pytest-xdist, which has no types
    """Spread tests in units of our own, unless another way was asked for."""
    if config.option.dist != "loadscope":
        return None
    from tests.scheduler import Units

    return Units(config, log)


# --- With which kernel


@pytest.fixture(scope="module", autouse=True)
def kernel_in_use(request: pytest.FixtureRequest) -> Iterator[str]:
    """The kernel that the tests of a module run through, in this process and in those that they start."""
    name = getattr(request, "param", None)
    if name is None:
        yield kernel.name
        return
    missing = kernels.why_no_c()
    if name == kernel.C and missing:
        pytest.skip(missing)
    with pytest.MonkeyPatch.context() as patch, kernels.using(name):
        patch.setenv(kernel.VARIABLE, name)
        yield name


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """The one session of Spark that all tests share; it starts when the first of them asks for it."""
    missing = why_no_spark()
    if missing:
        pytest.skip(missing)
    from kdump.spark.session import embedded

    link_spark(tmp_path_factory.mktemp("spark-home"))
    of_few_rows = {"spark.driver.memory": "768m", "spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}
    with embedded(master="local[2]", conf=of_few_rows) as session:
        yield session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give all that is skipped for want of the kernel in C one place, so that `-rs` shows the reason once."""
    report = yield
    missing = kernels.why_no_c() if report.skipped else None
    if missing and missing in str(report.longrepr):
        report.longrepr = (__file__, None, f"Skipped: {missing}")  # type: ignore[assignment]  # as pytest's own, but for the line
    return report
