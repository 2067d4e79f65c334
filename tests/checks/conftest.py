"""What several tests of checks use."""

from collections.abc import Iterator

import pytest

from tests import kernels


@pytest.fixture(params=kernels.WAYS)
def window(request: pytest.FixtureRequest) -> Iterator[None]:
    """Batches come in several ways; what is found does not depend on it."""
    with kernels.coming_upon_batches(request.param):
        yield
