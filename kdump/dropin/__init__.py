"""The drop-in form: Kafka's options, output, failures and exit codes."""

from __future__ import annotations

from kdump.dropin.tool import DumpTool
from kdump.errors import UsageError
from kdump.exit_codes import USAGE
from kdump.output.blocks import Blocks
from kdump.releases import history
from kdump.releases.profile import profile_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from kdump.dropin.tuning import Tuning

_RELEASE_OPTION = "--release"
_STRICT_OPTION = "--strict-stderr"
_JOBS_OPTION = "--jobs"
_NICE_OPTION = "--nice"
_RATE_OPTION = "--rate"
_WITH_VALUE = {
    _RELEASE_OPTION: f"a release, such as {history.RELEASES[-1]}",
    _JOBS_OPTION: "a number of processes",
    _RATE_OPTION: "a rate, such as 50MB/s",
}
_OPTIONS_WITH_VALUES = ("files", "max-bytes", "max-message-size")


def main(
    arguments: list[str], stdout: BinaryIO, stderr: BinaryIO, *, is_terminal: bool = False, tuning: Tuning | None = None
) -> int:
    """Do what Kafka's tool does with these arguments, and return its exit code.

    The only additions are the options of `OwnOptions`. `tuning` is for tests.
    """
    try:
        own = OwnOptions(arguments)
        profile = profile_of(own.release)
        if own.is_nice or own.rate:
            from kdump.binary.throttle import throttle

            throttle(own.rate, is_nice=own.is_nice)
    except UsageError as error:
        stderr.write(f"kdump: {error}\n".encode("utf-8", "backslashreplace"))
        return USAGE
    out, err = Blocks(stdout), Blocks(stderr)
    tool = DumpTool(profile, out, err, is_strict=own.is_strict, is_terminal=is_terminal, jobs=own.jobs, tuning=tuning)
    try:
        return tool.run(own.others)
    finally:
        tool.out.close()
        tool.err.close()


class OwnOptions:
    """The options of ours that the drop-in form takes, and the `others`, which are Kafka's.

    `--release R` selects the release whose output is printed, `--strict-stderr` keeps kdump's own words off stderr, `--jobs N`
    sets the number of processes (0: as many as suit the machine), `--nice` lowers the priority and spares the page cache,
    `--rate R` limits the bytes read per second. Raises UsageError if a value is missing or wrong.
    """

    def __init__(self, arguments: list[str]) -> None:
        self.release, self.is_strict, self.jobs = history.RELEASES[-1], False, 0
        self.is_nice, self.rate = False, ""
        self.others: list[str] = []
        remaining = iter(arguments)
        for word in remaining:
            name, equals, value = word.partition("=")
            if word == "--":
                self.others += [word, *remaining]
            elif word == _STRICT_OPTION:
                self.is_strict = True
            elif word == _NICE_OPTION:
                self.is_nice = True
            elif name in _WITH_VALUE:
                self._take(name, value if equals else next(remaining, None))
            else:
                self.others.append(word)
                if word.lstrip("-") in _OPTIONS_WITH_VALUES:
                    self.others += [value for value in (next(remaining, None),) if value is not None]

    def _take(self, name: str, value: str | None) -> None:
        if value is None:
            raise UsageError(f"{name} takes {_WITH_VALUE[name]}")
        if name == _RELEASE_OPTION:
            self.release = value
        elif name == _RATE_OPTION:
            self.rate = value
        elif value.isascii() and value.isdigit():
            self.jobs = int(value)
        else:
            raise UsageError(f"{name} takes {_WITH_VALUE[name]}, not {value!r}")
