"""The short forms of the campaigns about the C kernel."""

from pathlib import Path

import pytest

from campaigns import hostile, sanitized
from campaigns import kernels as campaign
from tests import kernels
from tests.support import skip_if

MUTANTS, MUTANTS_OF_ALL_CASES = 60, 150
ROUNDS_OF_CALLS = 150
ROUNDS_WITH_SANITIZERS, MUTANTS_WITH_SANITIZERS = 120, 30
SEED = 1


@pytest.mark.slow
def test_both_kernels_print_the_same_of_damaged_files(tmp_path: Path, all_cases: bool) -> None:
    skip_if(kernels.why_no_c())
    count = MUTANTS_OF_ALL_CASES if all_cases else MUTANTS
    found = []
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        found += [f"{number}: {fault}" for fault in campaign.faults(SEED, number, folder)]
    assert not found, "\n\n".join([f"{len(found)} runs differ", *found[:3]])


@pytest.mark.slow
def test_hostile_arguments_are_refused_or_do_no_harm() -> None:
    skip_if(kernels.why_no_c())
    from kdump.binary import _kernel

    calls = hostile.Hostile(_kernel, SEED)
    calls.run(rounds=ROUNDS_OF_CALLS)
    assert 0 < calls.refused < calls.done


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, its kernel built with sanitizers."""
    skip_if(sanitized.why_not_available())
    folder = tmp_path_factory.mktemp("sanitized").resolve()
    sanitized.build(folder)
    return folder


@pytest.mark.slow
@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("module", "option", "count"),
    [("campaigns.hostile", "--rounds", ROUNDS_WITH_SANITIZERS), ("campaigns.kernels", "--count", MUTANTS_WITH_SANITIZERS)],
)
def test_sanitizers_find_nothing(build: Path, module: str, option: str, count: int) -> None:
    code, text = sanitized.run(build, module, option, str(count), "--seed", str(SEED))
    assert code == 0, text


@pytest.mark.slow
@pytest.mark.all_cases
def test_sanitizers_would_find_something(tmp_path: Path, build: Path) -> None:
    (tmp_path / "kdump").symlink_to(build / "kdump")
    # one byte after a buffer: what the sanitizers are for
    (tmp_path / "overread.py").write_text(
        "from array import array; import ctypes; from kdump.binary import _kernel\n"
        "data = array('B', bytes(64))[:]; _kernel.crc32c((ctypes.c_char * 65).from_address(data.buffer_info()[0]))\n"
    )
    code, text = sanitized.run(tmp_path, "overread")
    assert code != 0
    assert "ERROR: AddressSanitizer" in text  # for a wide load it reports only this
    assert "_kernel.c" in text
