"""Schemas in files and directories: which files are read, as what, and why not."""

import os
from pathlib import Path

import pytest

from kdump.errors import UsageError
from kdump.schemas import files
from kdump.schemas.bounds import MAX_SCHEMA_SIZE
from tests.loops import each

FOLDER = {
    "a.avsc": b"\xef\xbb\xbf1",  # with a byte order mark
    "b.avro.json": b"2",
    "c.json": b"3",
    "notes.txt": b"no schema",
    "sub/D.PROTO": b"4",
    "sub/deep/e.desc": b"5",
    "sub/f.proto": b"\xff6",
    "sub/g.proto": b"\x007",
}
IN_FOLDER = [
    *(("AVRO", "a.avsc", "1", b""), ("AVRO", "b.avro.json", "2", b""), ("JSON", "c.json", "3", b"")),
    *(("PROTOBUF", "sub/D.PROTO", "4", b""), ("PROTOBUF", "sub/deep/e.desc", "", b"5")),
    *(("PROTOBUF", f"sub/{name}.proto", "", data) for name, data in (("f", b"\xff6"), ("g", b"\x007"))),
]


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def test_all_files_below_a_directory_that_are_named_like_schemas_are_read(tmp_path: Path) -> None:
    _write(tmp_path / "of", FOLDER)
    _write(tmp_path / "beside", {"x.avsc": b"9"})
    os.symlink(tmp_path / "beside", tmp_path / "of" / "link")
    found = files.schemas_in(str(tmp_path / "of"))
    assert [(one.type, one.name, one.text, one.data) for one in found] == IN_FOLDER
    assert files.files_at(str(tmp_path / "of")) == [str(tmp_path / "of" / name) for _, name, *_ in IN_FOLDER]


@each(
    ("name", "type", "data", "expected"),
    [
        ("c.json", "AVRO", b"3", "AVRO"),
        ("c.json", "JSON", b"3", "JSON"),
        ("a.avsc", "JSON", b"3", "AVRO"),
        ("notes.txt", "AVRO", b"3", "AVRO"),
        ("notes.txt", "", b"3", "notes.txt is not named like a schema"),
        ("00000000000000000000.log", "", b"3", "is a segment of a topic"),
        ("a.avsc", "", b"\xff", "a.avsc is not UTF-8"),
        ("a.avsc", "", bytes(MAX_SCHEMA_SIZE), "AVRO"),
        ("a.avsc", "", bytes(MAX_SCHEMA_SIZE + 1), "has 1,048,577 bytes; schemas of up to 1,048,576 are read"),
        (".", "", b"", "has no schemas"),
        ("none", "", b"", "there is no "),
    ],
)
def test_a_file_is_what_its_name_says_or_what_was_asked_for(
    name: str, type: str, data: bytes, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if data:
        path.write_bytes(data)
    if expected.isupper():
        (found,) = files.schemas_in(str(path), type)
        assert (found.type, found.name) == (expected, name)
    else:
        with pytest.raises(UsageError, match=expected):
            files.schemas_in(str(path), type)


def test_a_directory_of_very_many_files_is_not_one_of_schemas(tmp_path: Path) -> None:
    _write(tmp_path, {f"{number}.avsc": b"1" for number in range(files.MAX_FILES)})
    assert len(files.files_at(str(tmp_path))) == files.MAX_FILES
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=f"more than {files.MAX_FILES} files"):
        files.files_at(str(tmp_path))
