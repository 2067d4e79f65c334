"""The builders share no code with what they test."""

import re
from pathlib import Path


def test_the_builders_share_no_code_with_the_readers() -> None:
    sources = list((Path(__file__).parent / "builders").glob("*.py"))
    assert len(sources) == 13
    for source in sources:
        assert not re.search(r"^\s*(import|from) kdump", source.read_text(), re.MULTILINE)
