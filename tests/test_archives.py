"""Archives of the project are unpacked by any Python that the project supports."""

import io
import re
import tarfile
from pathlib import Path

import pytest

from tools import archives

ROOT = Path(__file__).parent.parent


def _archive(*members: tarfile.TarInfo) -> tarfile.TarFile:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)))
    data.seek(0)
    return tarfile.open(fileobj=data)


def _member(name: str, **values: object) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for key, value in values.items():
        setattr(member, key, value)
    return member


def test_files_and_directories_have_their_contents_and_times(tmp_path: Path) -> None:
    archives.unpack(_archive(_member("a/b", size=3, mtime=1_700_000_000), _member("empty", type=tarfile.DIRTYPE)), tmp_path)
    assert (tmp_path / "a" / "b").read_bytes() == bytes(3)
    assert (tmp_path / "a" / "b").stat().st_mtime == 1_700_000_000
    assert (tmp_path / "empty").is_dir()


@pytest.mark.parametrize(
    "member",
    [_member("../outside", size=1), _member("/outside", size=1), _member("link", type=tarfile.SYMTYPE, linkname="/etc/passwd")],
    ids=["above", "absolute", "link"],
)
def test_nothing_leads_out_of_the_folder(member: tarfile.TarInfo, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither a file nor a directory"):
        archives.unpack(_archive(member), tmp_path / "in")
    assert list(tmp_path.rglob("*")) == []


def test_nothing_is_unpacked_by_what_some_pythons_do_not_have() -> None:
    for folder in ("tests", "campaigns", "tools", "golden_outputs", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(r"extractall\(", path.read_text()) or path == Path(__file__), path
