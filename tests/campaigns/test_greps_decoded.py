"""The short form of the campaign that searches decoded keys and values."""

import random
from pathlib import Path

import pytest

from campaigns import greps_decoded
from tests.registries import unpack

COUNT = 80


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("registries")
    unpack(folder)
    return folder


def test_hits_in_decoded_values_are_those_of_the_official_deserializers(folder: Path) -> None:
    topics, chance = greps_decoded.topics(), random.Random(8)
    assert [fault for _ in range(COUNT) for fault in greps_decoded.faults(folder, chance.choice(topics), chance)] == []
