"""Print every module of kdump with its first line: python -m tools.modules [FOLDER], for example kdump/checks."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def summaries(folder: Path) -> dict[str, str]:
    """The first line of the docstring of each module in a folder, by path."""
    return {
        str(path.relative_to(ROOT)): (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
        for path in sorted(folder.rglob("*.py"))
    }


if __name__ == "__main__":
    for module, summary in summaries(ROOT / (sys.argv[1] if sys.argv[1:] else "kdump")).items():
        if summary:
            print(f"{module:45} {summary}")
