"""Paths of this machine and URLs: what is above them, common to them, and between them."""

import os

import pytest

from kdump.binary import paths
from kdump.errors import UsageError
from tests.loops import each


@each(
    ("path", "is_url", "root"),
    [
        *((f"{scheme}://b/k", True, f"{scheme}://b") for scheme in paths.SCHEMES),
        *((path, False, None) for path in ("./s3://b", "http://b/k", "s3:/b", "s3", "/s3://b", "")),
        ("abfss://c@a.net/x/y", True, "abfss://c@a.net"),
    ],
)
def test_a_url_is_of_a_store_that_is_known(path: str, is_url: bool, root: str | None) -> None:
    assert (paths.is_url(path), paths.root(path) if is_url else None) == (is_url, root)
    if is_url:
        with pytest.raises(UsageError, match="must be on this machine"):
            paths.require_local(path, "it")
    else:
        paths.require_local(path, "it")


@each(
    ("given", "common"),
    [
        *((["/a/b", "/a/c"], "/a"), (["s3://b/x/1", "s3://b/x/2"], "s3://b/x"), (["s3://b", "s3://b/x"], "s3://b")),
        *((["s3://b/x", "s3://c/x"], ""), (["/a", "s3://b/a"], ""), (["s3://b/x/"], "s3://b/x")),
    ],
)
def test_paths_of_one_store_have_a_directory_in_common(given: list[str], common: str) -> None:
    assert paths.common(given) == common


@each(
    ("path", "above", "relative"),
    [
        *(("/a/b", "/a", "b"), ("/a", "", "a"), ("s3://b/x/y", "s3://b/x", "y"), ("s3://b/x", "s3://b", "x")),
        *(("s3://b/x", other, "s3://b/x") for other in ("s3://c", "", "/a")),
        *(("/a", "s3://b", "/a"), ("s3://b", "s3://b", ".")),
    ],
)
def test_a_path_is_relative_to_one_of_the_same_store(path: str, above: str, relative: str) -> None:
    assert paths.relative(path, above) == relative


def test_the_root_is_its_own_parent() -> None:
    parents = {"/a/b": "/a", "/": "/", "s3://b/x/y/": "s3://b/x", "s3://b/x": "s3://b", "s3://b/": "s3://b", "x": os.getcwd()}
    assert {path: paths.parent(path) for path in parents} == parents
    assert [paths.real(path) for path in ("s3://b/x//", "/a/../b")] == ["s3://b/x", "/b"]


@each("path", ["-", "a.tar.gz", "A.ZIP", "a.zst", "a.tgz"])
def test_what_is_made_is_a_directory(path: str) -> None:
    with pytest.raises(UsageError, match=f"-o {path}: what is made is a directory"):
        paths.require_directory_name(path, "-o")
    paths.require_directory_name(f"{path}.d", "-o")
