"""What a change does to the goldens is shown in text, whether they are packed or not."""

from pathlib import Path
from unittest import mock

from golden_outputs import review, stored
from golden_outputs.stored import Golden

FILES = ("--files", "0.log")


def _golden(stdout: bytes, case: str = "a") -> Golden:
    return Golden(case, FILES, 0, stdout, b"")


def _kept(folder: Path, **texts: bytes) -> review.Goldens:
    """The goldens of a folder in which releases, `r2_0_1` for 2.0.1, printed these texts."""
    folder.mkdir()
    with mock.patch.object(stored, "FOLDER", folder):
        stored.write({name.removeprefix("r").replace("_", "."): [_golden(text)] for name, text in texts.items()})
    return review.kept_in(folder)


def test_what_a_packed_release_prints_now_is_shown_in_text_with_its_releases(tmp_path: Path) -> None:
    before = _kept(tmp_path / "before", r3_0_0=b"one\n", r2_0_1=b"size: 1\n", r2_0_0=b"size: 1\n")
    after = _kept(tmp_path / "after", r3_0_0=b"one\n", r2_0_1=b"size: 2\n", r2_0_0=b"size: 2\n")
    assert (tmp_path / "after" / "2.0.1.jsonl.xz").exists()
    found = review.differences(before, after)
    assert list(found.values()) == [["2.0.1", "2.0.0"]]
    assert "".join(review.report(found, 5)) == (
        "1 differences\n\n== a (2.0.1, 2.0.0)\n@@ -2,2 +2,2 @@\n exit 0\n-> size: 1\n+> size: 2\n"
    )
