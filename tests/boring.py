"""The short form of the campaign of ordinary logs with ordinary damage; each folder of tests asks the commands of its rooms."""

from collections.abc import Callable, Iterator
from typing import Any  # rows of a parametrized test

import pytest

from campaigns import boring
from tests.loops import of_all_cases

SEED = 1


def _cases() -> Iterator[Any]:
    """Shapes and kinds; of those kinds that are there with several shapes, only some with each run by default."""
    for shape, kind in boring.short_cases():
        row = boring.SHORT_SHAPES.index(shape) + boring.SHORT_KINDS.index(kind) if kind in boring.SHORT_KINDS else 0
        yield of_all_cases(shape, kind) if row % 4 else (shape, kind)


def test_of(*commands: str) -> Callable[[str, str], None]:
    """A test that the answers of these commands are those of the truth."""

    @pytest.mark.slow
    @pytest.mark.parametrize(("shape", "kind"), list(_cases()))
    def test(shape: str, kind: str) -> None:
        way, size = boring.short_way(shape, kind), boring.short_size(shape)
        wrong = [
            f"{fault}\n    {boring.again(size / boring.MIB, SEED, shape, kind, kernel, sizes, command)}"
            for kernel, sizes, command, fault in boring.wrong(shape, kind, size, SEED, commands, [way])
        ]
        assert wrong == [], "\n".join(wrong)

    return test
