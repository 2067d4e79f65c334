"""Damages partition directories and compares the forecasts of kdump with the real log managers.

    python -m campaigns.starts --count 500 --release 4.3.1
    python -m campaigns.starts --seed 1 --number 1234 --keep /tmp/starts     one of them again, its directory kept

A directory is one of those in tests/restarts with one to three changes, which depend only on the seed and its number.
"""

import contextlib
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import kdump
from campaigns import incidents, numbered
from kdump.forecasts.row import Forecast
from tests import restarts
from tests.oracle.restarts import LogManager, Request, Start, why_not_available
from tests.restarts import comparison

RELEASES = ("2.8.2", "3.9.1", "4.3.1")
NOT_COMPARED = ("dataEnd", "lostRecords", "lostOffsets")
"""Fields that depend on which batches count: a record has the outer offset of a wrapper, and looks into no log of another name.

tests/forecasts/test_forecast.py compares them."""

MAX_SIZE = 64 << 10
LARGEST_BASE = 1 << 60

SETTINGS: tuple[dict[str, str], ...] = (
    *({}, {}, {}),
    *({"index.interval.bytes": "0"}, {"index.interval.bytes": "300"}, {"segment.index.bytes": "64"}),
)


class Trial(NamedTuple):
    """A start to compare, and a description of its directory."""

    request: Request
    start: Start
    about: str


def main() -> int:
    parser = numbered.parser(__doc__, count=200)
    parser.add_argument("--release", choices=RELEASES, action="append")
    arguments = parser.parse_args()
    releases = arguments.release or RELEASES
    for missing in filter(None, map(why_not_available, releases)):
        print(missing, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="kdump-campaign-") as name, contextlib.ExitStack() as stack:
        restarts.unpack(Path(name))
        seeds = _seeds(Path(name))
        managers = {release: stack.enter_context(LogManager(release)) for release in releases}

        def faults(seed: int, number: int, folder: Path) -> Iterator[str]:
            for release, manager in managers.items():
                trial = _trial(seeds, folder / release, seed, number)
                line = comparison.fields_of(manager.record(trial.request, trial.start))
                found = comparison.differences(line, _foretold(release, trial), leave_out=NOT_COMPARED)
                if found:
                    differing = "; ".join(f"{field}: foretold {foretold}, seen {seen}" for field, seen, foretold in found)
                    yield f"{release}: {trial.about}: {differing}; said {line['said']}"

        return numbered.run(arguments, faults, "starts")


def _foretold(release: str, trial: Trial) -> Forecast:
    request, start = trial.request, trial.start
    (row,) = kdump.forecast(
        request.directory, broker=release, after=start.stop, recovery_point=start.recovery_point, config=request.config
    )
    return row


def _seeds(folder: Path) -> list[Path]:
    """Sufficiently small directories with a log, in the order of their names."""
    found = {log.parent for log in folder.rglob("*.log") if log.is_file()}
    return sorted(one for one in found if sum(file.stat().st_size for file in one.iterdir() if file.is_file()) < MAX_SIZE)


def _trial(seeds: Sequence[Path], root: Path, seed: int, number: int) -> Trial:
    chance = random.Random(f"{seed} {number}")
    source = chance.choice(seeds)
    directory = root / "topic-0"
    about = incidents.changed_copy(source, source.parents[1], directory, chance, (1, 1, 2, 3))
    numbers = [int(log.name[:20]) for log in directory.glob("*.log") if log.name[:20].isdigit()]
    bases = sorted(base for base in numbers if base < LARGEST_BASE) or [0]
    recovery_point = chance.choice((0, 0, bases[-1], chance.choice(bases), 1 << 40))
    log_start = chance.choice((0, 0, 0, 0, chance.choice(bases), bases[-1] + chance.randrange(200)))
    if log_start:
        (root / "log-start-offset-checkpoint").write_text(f"0\n1\ntopic 0 {log_start}\n")
    config = chance.choice(SETTINGS)
    stop = chance.choice(("clean", "unclean"))
    about += f"; {stop} {recovery_point} log start {log_start} {config or ''}"
    request = Request(directory, config=config, now=restarts.CLOCK)
    return Trial(request, Start(stop, recovery_point), about)


if __name__ == "__main__":
    sys.exit(main())
