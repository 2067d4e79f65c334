"""Settings of all tests, and the kernels they run through."""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from kdump.binary import kernel
from tests import kernels
from tests.sessions import why_no_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Times vary between machines; what is bounded is measured where it matters.
settings.register_profile("kdump", deadline=None)
settings.load_profile("kdump")

WITHOUT_KERNEL = {
    "test_builders",
    "test_check_options",
    "test_fleet",
    "test_fleet_text",
    "test_floors",
    "test_joptsimple",
    "test_kernel",
    "test_kernels",
    "test_mutants",
    "test_mutations",
    "test_partitions",
    "test_pieces",
    "test_readme",
    "test_reconciliation",
    "test_releases",
    "test_report",
    "test_restart_records",
    "test_restarts",
    "test_slices",
    "test_spark",
    "test_spark_checks",
    "test_spark_cookbook",
    "test_tables",
    "test_witnesses",
}
"""Modules that read no bytes, or choose the kernels themselves. Those of all others run through both kernels."""

WITHOUT_KERNEL_TESTS = {
    "test_the_real_tool_still_prints_the_goldens",
    "test_every_wanted_run_is_kept",
    "test_every_case_is_described",
    "test_spark_is_measured_beside_this_process",
    "test_every_rule_of_starts_has_a_witness",
    "test_a_rule_that_begins_one_release_off_is_noticed",
    "test_one_directory_that_loses_data_is_enough_for_exit_code_1",
}
"""The same, in other modules."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs Spark comes last: it leaves threads behind, and a process that has any is not forked by those that need it."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what reads bytes once with each kernel."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if module not in WITHOUT_KERNEL and metafunc.function.__name__ not in WITHOUT_KERNEL_TESTS:
        names = [f"{name}-kernel" for name in kernels.KERNELS]
        metafunc.parametrize("kernel_in_use", kernels.KERNELS, ids=names, indirect=True, scope="module")


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
def spark() -> "Iterator[SparkSession]":
    """The one session of Spark that all tests share; it starts when the first of them asks for it."""
    missing = why_no_spark()
    if missing:
        pytest.skip(missing)
    from kdump.spark.session import embedded

    with embedded(master="local[2]", conf={"spark.driver.memory": "768m", "spark.sql.shuffle.partitions": "2"}) as session:
        yield session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give all that is skipped for want of the kernel in C one place, so that `-rs` shows the reason once."""
    report = yield
    missing = kernels.why_no_c() if report.skipped else None
    if missing and missing in str(report.longrepr):
        report.longrepr = (__file__, None, f"Skipped: {missing}")  # type: ignore[assignment]  # as pytest's own, but for the line
    return report
