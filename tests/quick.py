"""The tests that `-m quick` runs, beside all of `test_quick.py`: those that notice most, of each module a few.

`quick.txt` lists them below their modules. A test belongs there if it notices errors that no other does
(`campaigns/mutation_list.tsv` names such), and takes less than half a second of processor time. All together, with what it takes
to collect them, must take less than 60 seconds.
"""

from pathlib import Path

ALL_OF = "tests/test_quick.py"
"""The module of which all is quick: it sees each command, kind of file, verdict and codec once."""

TESTS = {module: tests for module, *tests in map(str.split, Path(__file__).with_suffix(".txt").read_text().strip().split("\n\n"))}
"""Tests by their module. Modules that are not here are not collected where `-m quick` names no folder."""
