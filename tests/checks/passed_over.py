"""Checks logs with and without the kernel in C, which passes over what the rules have nothing to say about."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from unittest import mock

from kdump.binary import kernel
from kdump.checks import check, ordinary_records
from kdump.checks.finding import Finding
from kdump.checks.jobs import Job
from kdump.checks.settings import DEEP, Settings
from tests import kernels
from tests.builders.files import file_name
from tests.kernels import WAYS, coming_upon_batches

NOW = 1_800_000_000_000
ALL = 1000


def _findings(directory: Path, policy: str, most: int) -> Sequence[Finding]:
    """What a deep check of a partition directory finds, at most so many of a code.

    Where few are shown, those of one rule are left out: windows decide which rule comes first.
    """
    found: list[object] = []
    settings = Settings(now=NOW, level=DEEP, cleanup_policy=policy, max_findings=most, is_pedantic=True)
    check.run(Job(Job.PARTITION, str(directory)), settings, found.append)
    findings = (one for one in found if isinstance(one, Finding))
    told = [one for one in findings if most == ALL or "last-offset-delta-mismatch" not in (one.code, *one.message.split())]
    return sorted(told, key=lambda one: (one.start, one.code, one.message))


def codes_however_read(logs: Iterable[bytes], folder: Path) -> set[str]:
    """The codes of what is found in these logs, which is the same with both kernels, however the batches are come upon."""
    path = folder / "t-0" / file_name(0, ".log")
    path.parent.mkdir()
    codes: set[str] = set()
    for number, data in enumerate(logs):
        path.write_bytes(data)
        policy, most = ("delete", "compact", "unknown")[number % 3], (ALL, ALL, 2, 1)[number % 4]
        with kernels.using(kernel.PYTHON):
            expected = _findings(path.parent, policy, most)
        codes.update(one.code for one in expected)
        with kernels.using(kernel.C):
            for way in WAYS:
                read_bytes = (1 << 20, 300, 1)[number % 3]  # at once, of a section
                with coming_upon_batches(way), mock.patch.object(ordinary_records, "_READ_BYTES", read_bytes):
                    assert _findings(path.parent, policy, most) == expected, (number, way)
    return codes
