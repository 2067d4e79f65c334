"""Damaged files of the goldens, and the runs to make on them; they depend only on a seed and a number."""

import fnmatch
import functools
import random
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from campaigns import contents
from campaigns.damage import damage
from golden_outputs.runs import CASES, DECODERS, cases
from tests.oracle.kafka_tool import release_number

LARGEST_SOURCE = 24 * 1024

# How often files of a type are damaged, and the commands for them: {} is the file, {stem} its name without the suffix.
WEIGHTS = {".log": 70, ".index": 9, ".timeindex": 9, ".snapshot": 6, ".txnindex": 3, ".checkpoint": 3}
LOG_RUNS = (
    *("--files {}", "--files {}", "--print-data-log --files {}", "--print-data-log --files {}", "--deep-iteration --files {}"),
    *("--print-data-log --skip-record-metadata --files {}", "--max-bytes {number} --deep-iteration --files {}"),
)
INDEX_RUNS = (
    *("--files {stem}.index", "--files {stem}.index --max-message-size {number}", "--verify-index-only --files {stem}.index"),
    "--index-sanity-check --files {stem}.index",
)
TIME_INDEX_RUNS = (
    "--files {stem}.timeindex",
    "--verify-index-only --files {stem}.timeindex",
    "--index-sanity-check --files {stem}.timeindex",
    "--files {stem}.index,{stem}.timeindex,{stem}.log --deep-iteration",
)
DECODER_RUNS = (
    *["{decoder} --print-data-log --deep-iteration --files {name}"] * 2,
    *("{decoder} --print-data-log --files {name}", "{decoder} --deep-iteration --files {name}"),
)
MAGICS = (("0.8.0", 0), ("0.10.0.0", 1), ("0.11.0.0", 2))


class Mutant(NamedTuple):
    """A damaged file of a case, and the runs to make on it."""

    number: int
    case: str
    file: str
    name: str
    data: bytes
    what: str
    runs: list[list[str]]

    def write(self, folder: Path) -> None:
        """Write the damaged file into an empty folder, with the other files of its segment."""
        source = CASES / self.case / self.file
        stem, new_stem = source.name.partition(".")[0], self.name.partition(".")[0]
        for sibling in source.parent.glob(f"{stem}.*"):
            if sibling.is_file() and sibling.stat().st_size <= LARGEST_SOURCE:
                shutil.copyfile(sibling, folder / (new_stem + sibling.name.removeprefix(stem)))
        (folder / self.name).write_bytes(self.data)


def mutant(seed: int, number: int) -> Mutant:
    chance = random.Random(f"{seed}/{number}")
    suffix = chance.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
    source = chance.choice(_sources()[suffix])
    other = chance.choice(_sources()[suffix])
    damaged = damage(suffix, source.read_bytes(), other.read_bytes(), chance)
    case, _, file = source.relative_to(CASES).as_posix().partition("/")
    name, what = source.name, damaged.what
    if chance.random() < 0.03:
        stem = chance.choice(("00000000000000000001", "00000000000000031337", "-5", "9223372036854775807", "abc"))
        name = stem + name[name.index(".") :]
        what += f", named {name}"
    return Mutant(number, case, file, name, damaged.data, what, _runs(name, suffix, damaged.data, source, chance))


def decoded_mutant(seed: int, number: int, decoder: str, release: str) -> Mutant:
    """The mutant of this number among those for a decoder, of a magic that the release reads."""
    chance = random.Random(f"{seed}/{number}/{decoder}")
    newest_magic = [magic for since, magic in MAGICS if release_number(since) <= release_number(release)][-1]
    source, other = chance.choices(_sources_of(decoder), k=2)
    damaged = contents.repacked(source.read_bytes(), other.read_bytes(), newest_magic, chance)
    case, _, file = source.relative_to(CASES).as_posix().partition("/")
    arguments = shlex.split(chance.choice(DECODER_RUNS).format(decoder=decoder, name=source.name))
    return Mutant(number, case, file, source.name, damaged.data, damaged.what, [arguments])


def _runs(name: str, suffix: str, data: bytes, source: Path, chance: random.Random) -> list[list[str]]:
    has_index, has_time_index = (source.with_suffix(other).exists() for other in (".index", ".timeindex"))
    if suffix in (".log", ".checkpoint"):
        ways = list(LOG_RUNS)
        if suffix == ".log" and has_index:
            ways += [INDEX_RUNS[0], INDEX_RUNS[1], *(TIME_INDEX_RUNS[:1] if has_time_index else ())]
    elif suffix == ".index":
        ways = [*INDEX_RUNS, *(TIME_INDEX_RUNS[:1] if has_time_index else ())]
    elif suffix == ".timeindex":
        ways = list(TIME_INDEX_RUNS)
    else:
        ways = ["--files {}"]
    number = chance.choice((chance.randrange(len(data) + 2), chance.randrange(200)))
    lines = {
        way.format(name, stem=name.removesuffix(suffix), number=number)
        for way in chance.sample(ways, min(len(ways), chance.choice((1, 2, 2, 3))))
    }
    return [shlex.split(line) for line in sorted(lines)]


@functools.cache
def _sources() -> dict[str, list[Path]]:
    files = [path for case in cases() for path in sorted((CASES / case).rglob("*")) if path.is_file()]
    small = [path for path in files if path.stat().st_size <= LARGEST_SOURCE]
    return {suffix: [path for path in small if path.suffix == suffix] for suffix in WEIGHTS}


@functools.cache
def _sources_of(decoder: str) -> list[Path]:
    patterns = [pattern for pattern, option in DECODERS.items() if option == decoder]
    return [
        path
        for path in _sources()[".log"]
        if any(fnmatch.fnmatch(path.relative_to(CASES).parts[0], pattern) for pattern in patterns)
        and any(contents.contents(path.read_bytes()))
    ]
