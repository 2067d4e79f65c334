"""What the tests of `kdump grep` share."""

from collections.abc import Callable

import pytest

from kdump.cli import commands
from tests.registries.conftest import cases as cases

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """What `kdump grep` returns, and prints on stdout and stderr."""

    def run_here(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = commands.main(["grep", *map(str, arguments)])
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return run_here
