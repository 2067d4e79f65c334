"""What `kdump check` is asked for: which findings count, which are known already, and how to check."""

from __future__ import annotations

import os

from kdump.binary.system import unreadable
from kdump.checks import catalogue
from kdump.checks.finding import SEVERITIES
from kdump.checks.settings import QUICK, Settings, current_time
from kdump.errors import UsageError
from kdump.formats.selection import selected
from kdump.verdicts.verdict import START_LOSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from kdump.checks.finding import Finding, Start
    from kdump.cli.checking.options import CheckOptions

    Identity = tuple[str, str, int, int]

_MAX_LINE = 1 << 20  # characters of a finding; a file of one endless line is none of ours


class CheckRequest:
    """One invocation of `kdump check`. Raises UsageError for codes and baselines that do not exist."""

    def __init__(self, options: CheckOptions) -> None:
        self.options = options
        self.paths = selected(options.paths, options.topics, options.partitions)
        self.kept_stdin = ""
        """The file that holds stdin, if that is one of the paths."""
        self._selected = codes_of(options.select) if options.select else None
        self._ignored = codes_of(options.ignore)
        self.failing = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1]
        self._known_starts = set[tuple[str, str, str]]()
        self.baseline = None if options.baseline is None else read_baseline(options.baseline, self._known_starts)
        self.processes = 1 if options.rate else options.jobs  # a rate is that of one process
        given = {name: value for name, value in vars(options).items() if name in Settings.field_names}
        self.settings = Settings(now=current_time(), **given)

    @property
    def proves_logs(self) -> bool:
        """Whether a log without findings is sound: all its bytes are read, and every fault is reported."""
        return (
            self.settings.level != QUICK
            and not self._ignored
            and (self._selected is None or self._selected == catalogue.FAULTS.keys())
        )

    def wants(self, code: str) -> bool:
        """Whether findings of this code are to be reported."""
        return code not in self._ignored and (self._selected is None or code in self._selected)

    def is_known(self, finding: Finding) -> bool:
        """Whether the baseline has this finding; each finding of the baseline matches once."""
        if self.baseline is None:
            return False
        identity = (finding.code, _place(finding.path), finding.start, finding.end)
        if not self.baseline[identity]:
            return False
        self.baseline[identity] -= 1
        return True

    def is_left_out(self, start: Start) -> bool:
        """Whether a start that loses is to be no reason: by --select or --ignore of `start-loses`, or as in the baseline."""
        return not self.wants(START_LOSES) or _identity_of(start.path, start.after, start.verdict) in self._known_starts


def codes_of(patterns: Sequence[str]) -> frozenset[str]:
    """The faults that these codes and globs such as `index-*` name. Raises UsageError for one that names none."""
    codes: set[str] = set()
    for pattern in patterns:
        found = [pattern] if pattern in catalogue.FAULTS else _fitting(pattern)
        if not found:
            raise UsageError(f"there is no fault {pattern}", remedy=suggestion(pattern))
        codes.update(found)
    return frozenset(codes)


def _fitting(pattern: str) -> list[str]:
    import fnmatch

    return fnmatch.filter(catalogue.FAULTS, pattern)


def suggestion(code: str) -> str:
    """What the user may have meant: similar codes, similar exceptions, or faults whose titles have all of these words."""
    from difflib import get_close_matches

    from kdump.checks.catalogue.lines.exceptions import EXCEPTIONS, SILENT

    word = code.strip("*").lower()
    is_code = " " not in word and not word.endswith(("exception", "error"))
    near = get_close_matches(word, catalogue.FAULTS, n=3, cutoff=0.5) if is_code else []
    near += [known for known in catalogue.FAULTS if word in known and known not in near][: 3 - len(near)]
    exceptions = {name.lower(): name for name in (*EXCEPTIONS, *SILENT)}
    likely = [] if near else get_close_matches(word.rpartition(".")[2], exceptions, n=3, cutoff=0.85)
    near += [exceptions[name] for name in likely]
    if not near:
        said = {fault.code: f"{fault.code} {fault.title}".lower() for fault in catalogue.FAULTS.values()}
        near = [known for known, text in said.items() if word and all(part in text for part in word.split())][:3]
    return f"did you mean {', '.join(near)}?" if near else "`kdump explain` lists all"


def read_baseline(path: str, starts: set[tuple[str, str, str]] | None = None) -> Counter[Identity]:
    """How often each finding is in a file that `kdump check --output ndjson` wrote. Raises UsageError for any other file.

    Adds to `starts` those in the file: the directory, the stop before it, and the verdict.
    """
    import json
    from collections import Counter

    known: Counter[Identity] = Counter()
    number = 0
    try:
        with open(path, encoding="utf-8") as file:
            while line := file.readline(_MAX_LINE):
                number += 1
                row = json.loads(line)
                if row["kind"] == "finding":
                    known[row["code"], _place(row["path"]), row["start"], row["end"]] += 1
                elif row["kind"] == "start" and starts is not None:
                    starts.add(_identity_of(row["path"], row["after"], row["verdict"]))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise UsageError(f"--baseline {path}: {(error.strerror or str(error)).lower()}") from error
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, KeyError, TypeError):
        message = f"--baseline {path}, line {number}: is not what `kdump check --output ndjson` writes"
        raise UsageError(message)
    return known


def _identity_of(path: str, after: str, verdict: str) -> tuple[str, str, str]:
    return os.path.basename(path.rstrip("/")), after, verdict


def _place(path: str) -> str:
    """The file name and its directory, which names the partition: they stay the same when a log directory is copied."""
    folder, _, name = path.rstrip("/").rpartition("/")
    return f"{folder.rpartition('/')[2]}/{name}"
