"""What tests of recorded registries share."""

from pathlib import Path

import pytest

from tests.registries import unpack


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded log directories, which are only read."""
    folder = tmp_path_factory.mktemp("registries")
    unpack(folder)
    return folder
