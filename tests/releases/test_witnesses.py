"""Every rule of the history has a golden that fails if the rule moves to the release before or after."""

import pytest

from golden_outputs import make
from kdump.releases import changes
from kdump.releases.timeline import FIRST
from tests import witnesses
from tests.loops import each
from tests.witnesses import Move

MOVES = {move.name: move for move in witnesses.moves()}
WITNESSES = witnesses.kept()
GAPS = witnesses.gaps()
DECLARATIONS = sorted({move.rule.partition(" ")[0] for move in MOVES.values()})
ADVICE = "no golden notices these; `python -m tests.witnesses --search` looks for one, CONTRIBUTING.md says how to make a case"


@each("declaration", DECLARATIONS, share=2)
def test_a_golden_notices_a_rule_moved_by_one_release(declaration: str) -> None:
    moves = [move for name, move in MOVES.items() if move.rule.partition(" ")[0] == declaration and name not in GAPS]
    if any(map(witnesses.needs_own_folder, moves)) and make.WORKING_FOLDER.exists():
        pytest.skip(f"{make.WORKING_FOLDER} is in use; remove it if nothing is running")
    assert [move.name for move in moves if not _is_noticed(move)] == [], ADVICE


def _is_noticed(move: Move) -> bool:
    golden = witnesses.golden_of(move, WITNESSES[move.name]) if move.name in WITNESSES else None
    return golden is not None and witnesses.notices(move, golden)


def test_all_releases_that_the_history_names_are_of_rules() -> None:
    of_rules = {move.rule.rpartition(" ")[2] for move in MOVES.values()}
    assert of_rules == {group.releases[0] for group in changes.groups()} - {FIRST}
    assert len(MOVES) > 800
