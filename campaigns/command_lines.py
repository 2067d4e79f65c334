"""Command lines of the drop-in form, with files of the goldens and unusual ones; each by a release, a seed and a number."""

import functools
import random
from pathlib import Path
from typing import NamedTuple

from golden_outputs.runs import CASES, cases
from kdump.releases.profile import profile_of

LARGEST_FILE = 8 * 1024
LARGEST_CASE = 48 * 1024

TOPICS = ("offsets", "transaction-log", "cluster-metadata", "remote-log-metadata", "share-group-state")
# Options by their effect on a run; most of those that a release does not know are left out.
FLAGS = ("deep-iteration", "print-data-log", "verify-index-only", "index-sanity-check", "skip-record-metadata")
TOPIC_DECODERS = tuple(f"{topic}-decoder" for topic in TOPICS)
NUMBERS = ("max-message-size", "max-bytes")
CLASSES = ("key-decoder-class", "value-decoder-class")
SCREENS = ("help", "version")
UNKNOWN = ("nope", "file", "Files", "h", "?", "files-", "print_data_log", "", "\u00fc", "release-notes")

ODD_NUMBERS = ("", " 5", "5 ", "+5", "007", "0x10", "1.5", "abc", "2147483647", "2147483648", "-2147483648", "\u0663", "-", "--")
DECODER_CLASSES = tuple(
    f"{package}.{name}Decoder"
    for package in ("kafka.serializer", "org.apache.kafka.tools.api")
    for name in ("String", "Default", "Long", "Integer", "")
)
ODD_CLASSES = ("", "java.lang.String", "no.such.Class", "string", "-")

KNOWN_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
ODD_SUFFIXES = (".deleted", ".cleaned", ".swap", ".txt", "~", ".LOG", ".", *KNOWN_SUFFIXES)
ODD_STEMS = (
    *("abc", "-5", "+7", "", "\u0663", "5.extra", "\u00e9t\u00e9", "a b", "7 "),
    *("9223372036854775807", "9223372036854775808"),
)
ABSENT = ("gone", *(stem + suffix for stem in ("gone", "77") for suffix in (*KNOWN_SUFFIXES, ".txt")))


class CommandLine(NamedTuple):
    """Arguments, and the files they refer to: bytes by path, None for a folder."""

    number: int
    cases: tuple[str, ...]
    files: dict[str, bytes | None]
    words: list[str]

    def write(self, folder: Path) -> None:
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if data is None else path.write_bytes(data)


def command_line(release: str, seed: int, number: int, working_folder: str) -> CommandLine:
    chance = random.Random(f"{release}/{seed}/{number}")
    chosen = tuple(chance.sample(sorted(_cases()), chance.choices((1, 2, 3), weights=(6, 3, 1))[0]))
    files: dict[str, bytes | None] = {}
    for place, case in enumerate(chosen):
        prefix = "" if place == 0 else chance.choice(("p1/", "a.b/", "\u00fc/", "a b/"))
        files |= {prefix + name: path.read_bytes() for name, path in _cases()[case].items()}
    for _ in range(chance.choices((0, 1, 3), weights=(5, 4, 1))[0]):
        _make_odd(files, chance)
    item_count = chance.choices((1, 2, 3, 6, 14), weights=(50, 20, 10, 8, 2))[0]
    items = [_item(files, chance, working_folder) for _ in range(item_count)]
    separator = chance.choices((",", ",,", ", "), weights=(40, 1, 1))[0]
    value = separator.join(items) + chance.choices(("", ",", ",,,"), weights=(20, 1, 1))[0]
    return CommandLine(number, chosen, files, _words(release, value, files, chance))


@functools.cache
def _cases() -> dict[str, dict[str, Path]]:
    """The files of all small cases, by their paths within the case."""
    found = {}
    for case in cases():
        files = {path.relative_to(CASES / case).as_posix(): path for path in (CASES / case).rglob("*") if path.is_file()}
        small = {name: path for name, path in sorted(files.items()) if path.stat().st_size <= LARGEST_FILE}
        if small and sum(path.stat().st_size for path in small.values()) <= LARGEST_CASE and "," not in "".join(small):
            found[case] = small
    return found


def _make_odd(files: dict[str, bytes | None], chance: random.Random) -> None:
    """Add a file or folder with an unusual name, or truncate, extend, replace or remove a file."""
    name = chance.choice([name for name, data in files.items() if data is not None])
    data = files[name]
    assert data is not None
    folder, slash, last = name.rpartition("/")
    stem, dot, suffix = last.partition(".")
    way = chance.randrange(9)
    if way == 0:
        files[name + chance.choice(ODD_SUFFIXES)] = data
    elif way == 1:
        files[folder + slash + chance.choice(ODD_STEMS) + (dot + suffix or ".log")] = data
    elif way == 2:
        files[f"{folder}{slash}{stem}{chance.choice(ODD_SUFFIXES)}"] = chance.choice((data, b""))
    elif way == 3:
        files[name] = data + bytes(chance.choice((1, 8, 12, 17, 18, 61, 400, 5000)))
    elif way == 4:
        files[name] = data[: chance.randrange(len(data) + 1)]
    elif way == 5:
        files[name] = b""
    elif way == 6:
        files["folder" + chance.choice(KNOWN_SUFFIXES)] = None
    elif way == 7:
        del files[name]
        if not any(content is not None for content in files.values()):
            files[name] = b""
    else:
        files[name] = chance.choice([content for content in files.values() if content is not None])


def _item(files: dict[str, bytes | None], chance: random.Random, working_folder: str) -> str:
    """One item of `--files`: mostly an existing file."""
    known = [name for name in files if name.endswith(KNOWN_SUFFIXES)]
    pool = known if known and chance.random() < 0.93 else [*files, *ABSENT, *ODD_STEMS]
    name = chance.choice(pool)
    if chance.random() < 0.85:
        return name
    forms = ("./{}", ".//{}", "{}/", "{}/.", "../case/{}", "{cwd}/{}", "{cwd}//{}", "folder/../{}", " {}", "{} ")
    return chance.choice(forms).format(name, cwd=working_folder)


def _words(release: str, files: str, data: dict[str, bytes | None], chance: random.Random) -> list[str]:
    known = profile_of(release).options
    given: list[tuple[str, str | None]] = []
    for names, often, make in (
        *((FLAGS, 0.2, None), (NUMBERS, 0.2, functools.partial(_number, data, chance))),
        *((CLASSES, 0.15, functools.partial(_class, chance)), (TOPIC_DECODERS, 0.03, None), (SCREENS, 0.01, None)),
    ):
        given += [(name, make() if make else None) for name in names if chance.random() < often]
    given = [(name, value) for name, value in given if name in known or chance.random() < 0.03]
    if chance.random() < 0.06:
        given.append((chance.choice(UNKNOWN), chance.choice((None, "5"))))
    if chance.random() < 0.05 and given:
        given.append(chance.choice(given))
    if chance.random() < 0.97:
        given.append(("files", files))
    if chance.random() < 0.03:
        given.append(("files", files))
    chance.shuffle(given)
    words: list[str] = []
    for name, value in given:
        words += _spelt(name, value, chance)
        if chance.random() < 0.02:
            words.append(chance.choice(("word", "", "-", "--", "00000000000000000000.log", "\u00e9")))
    return words


def _spelt(name: str, value: str | None, chance: random.Random) -> list[str]:
    """An option in one of its possible spellings."""
    if chance.random() < 0.08:
        name = name[: chance.randrange(1, len(name) + 1)] if name else name
    dashes = "-" if chance.random() < 0.06 else "--"
    if value is None:
        return [dashes + name + chance.choices(("", "=", "=no", "=true"), weights=(60, 1, 1, 1))[0]]
    way = chance.random()
    if way < 0.03:
        return [dashes + name]
    if way < 0.05:
        return ["-" + name[:1] + value]
    return [f"{dashes}{name}={value}"] if way < 0.35 else [dashes + name, value]


def _number(data: dict[str, bytes | None], chance: random.Random) -> str:
    if chance.random() < 0.15:
        return chance.choice(ODD_NUMBERS)
    size = len(chance.choice(list(data.values())) or b"")
    return str(chance.choice((chance.randrange(size + 2), size, 0, 1, -1, 17, 61, chance.randrange(200), 100_000)))


def _class(chance: random.Random) -> str:
    return chance.choice(DECODER_CLASSES if chance.random() < 0.8 else ODD_CLASSES)
