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


def findings(directory: Path, policy: str, max_findings: int = 1000) -> Sequence[Finding]:
    """What a deep check of a partition directory finds, at most so much of a code."""
    found: list[object] = []
    settings = Settings(now=NOW, level=DEEP, cleanup_policy=policy, max_findings=max_findings, is_pedantic=True)
    check.run(Job(Job.PARTITION, str(directory)), settings, found.append)
    return sorted((one for one in found if isinstance(one, Finding)), key=lambda one: (one.start, one.code, one.message))


def codes_however_read(logs: Iterable[bytes], folder: Path) -> set[str]:
    """The codes of what is found in these logs, which is the same with both kernels, however the batches are come upon."""
    path = folder / "t-0" / file_name(0, ".log")
    path.parent.mkdir()
    codes: set[str] = set()
    for number, data in enumerate(logs):
        path.write_bytes(data)
        policy = ("delete", "compact", "unknown")[number % 3]
        with kernels.using(kernel.PYTHON):
            expected = findings(path.parent, policy)
        codes.update(one.code for one in expected)
        with kernels.using(kernel.C):
            for way in WAYS:
                read_bytes = (1 << 20, 300, 1)[number % 3]  # at once, of a section
                with coming_upon_batches(way), mock.patch.object(ordinary_records, "_READ_BYTES", read_bytes):
                    assert findings(path.parent, policy) == expected, (number, way)
    return codes
