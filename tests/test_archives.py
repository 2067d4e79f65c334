"""Archives of the project are unpacked by any Python that the project supports."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_nothing_is_unpacked_by_what_some_pythons_do_not_have() -> None:
    for folder in ("tests", "campaigns", "tools", "golden_outputs", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(r"extractall\(", path.read_text()) or path == Path(__file__), path
