"""The drop-in form: the options of Kafka's tool, and those that kdump adds to them."""

from __future__ import annotations

from kdump.cli.options import FILES, FLAG, INTEGER, TEXT, CommandOptions, Option
from kdump.cli.release_options import RELEASE
from kdump.cli.shared_options import NICE, RATE, STRICT_STDERR, jobs_option, throttle_reading
from kdump.dropin.tool import DumpTool
from kdump.errors import UsageError
from kdump.exit_codes import USAGE
from kdump.output.blocks import Blocks
from kdump.releases import history, known
from kdump.releases.profile import profile_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, BinaryIO

    from kdump.dropin.tuning import Tuning
    from kdump.releases.profile import Profile


class DropinOptions(CommandOptions):
    """What kdump adds to the options of Kafka's tool."""

    release: str = RELEASE
    is_strict: bool = STRICT_STDERR
    jobs: int = jobs_option("Read large logs with N processes")
    is_nice: bool = NICE
    rate: str = RATE


_VALUES = {
    "release": f"a release, such as {known.RELEASES[-1]}",
    "jobs": "a number of processes",
    "rate": "a rate, such as 50MB/s",
}
"""The description of a missing value, by option."""


def main(
    arguments: Sequence[str], stdout: BinaryIO, stderr: BinaryIO, *, is_terminal: bool = False, tuning: Tuning | None = None
) -> int:
    """Do what Kafka's tool does with these arguments, and return its exit code. `tuning` is for tests."""
    try:
        options, kafkas = read_dropin(arguments)
        profile = profile_of(options.release)
        throttle_reading(options.rate, is_nice=options.is_nice)
    except UsageError as error:
        stderr.write(f"kdump: {error}\n".encode("utf-8", "backslashreplace"))
        return USAGE
    out, err = Blocks(stdout), Blocks(stderr)
    tool = DumpTool(profile, out, err, is_strict=options.is_strict, is_terminal=is_terminal, jobs=options.jobs, tuning=tuning)
    try:
        return tool.run(kafkas)
    finally:
        tool.out.close()
        tool.err.close()


def read_dropin(arguments: Sequence[str]) -> tuple[DropinOptions, list[str]]:
    """The values of the options that kdump adds, and all other words, which are for Kafka's tool.

    Which word is the value of another option depends on all options, Kafka's included. Raises UsageError for a value that is
    missing or wrong.
    """
    added = {name: option for option in DropinOptions.OPTIONS.values() for name in option.names}
    values: dict[str, Any] = {}  # of the types that the options have
    kafkas: list[str] = []
    remaining = iter(arguments)
    for word in remaining:
        name, equals, value = word.partition("=")
        if word == "--":
            kafkas += [word, *remaining]
        elif name not in added or equals and added[name].kind == FLAG:
            kafkas.append(word)
            if word.lstrip("-") in _KAFKAS_WITH_VALUES:
                kafkas += [value for value in (next(remaining, None),) if value is not None]
        elif added[name].kind == FLAG:
            values[added[name].name] = True
        else:
            values[added[name].name] = _value_of(added[name], name, value if equals else next(remaining, None))
    return DropinOptions(**values), kafkas


_KAFKAS_WITH_VALUES = {option.name for option in history.OPTIONS if option.argument == "required"}


def _value_of(option: Option, name: str, text: str | None) -> str | int:
    if text is None:
        raise UsageError(f"{name} takes {_VALUES[option.name]}")
    if option.kind != INTEGER:
        return text
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{name} takes {_VALUES[option.name]}, not {text!r}")
    return int(text)


def all_options(profile: Profile) -> list[Option]:
    """The options of Kafka's tool, as this release has them, and those that kdump adds."""
    return [*kafkas_options(profile), *DropinOptions.OPTIONS.values()]


def kafkas_options(profile: Profile) -> list[Option]:
    """The options of Kafka's tool, as this release has them."""
    return [_kafkas(profile, name) for name in profile.options]


def _kafkas(profile: Profile, name: str) -> Option:
    option = profile.options[name]
    kind = INTEGER if option.is_number else TEXT if option.argument else FLAG
    classes = tuple(profile.decoder_classes) if name.endswith("-decoder-class") else ()
    return Option(f"--{name}", profile.description_of(name), kind, completes=FILES if name == "files" else classes)
