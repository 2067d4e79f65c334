"""How two releases differ is reported as kinds of changes, and what a change does to packed goldens as text."""

from pathlib import Path
from unittest import mock

from golden_outputs import differences, review, stored
from golden_outputs.stored import Golden

BATCH = "baseOffset: {} isTransactional: false position: 0 size: 68\n"
LATER_BATCH = "baseOffset: {} isTransactional: false isControl: false position: 0 size: 68\n"


def _golden(case: str, stdout: str) -> Golden:
    return Golden(case, ("--files", "0.log"), 0, stdout.encode(), b"")


def _kinds(before: list[Golden], after: list[Golden]) -> dict[tuple[str, str], int]:
    return {(change.stream, change.kind): len(runs) for change, runs in differences.changes(before, after).items()}


def test_changes_within_json_are_told_apart_by_path() -> None:
    line = '| offset: {} key: {{"id":"payload: {{"}} payload: {{"data":{{"state":{},"parts":[{{"ids":[1,{}]}}]{}}}}}\n'
    before = [_golden("a", line.format(1, 4, 7, "")), _golden("b", line.format(2, 0, 7, "") + line.format(3, 1, 7, ""))]
    after = [
        _golden("a", line.format(1, '"Done"', 7, ',"epoch":3')),
        _golden("b", line.format(2, '"Empty"', 8, "") + line.format(3, '"Open"', 7, "")),
    ]
    assert _kinds(before, after) == {
        ("stdout", "payload.data.state: number is now text"): 2,
        ("stdout", "+ payload.data.epoch"): 1,
        ("stdout", "other values of payload.data.parts[].ids[]"): 1,
    }


def test_the_report_shows_each_kind_with_its_shortest_example() -> None:
    before = [_golden("long", BATCH.format(123456)), _golden("short", BATCH.format(0))]
    after = [_golden("long", LATER_BATCH.format(123456)), _golden("short", LATER_BATCH.format(0))]
    text = "".join(differences.report(differences.changes(before, after), show=5))
    assert text == (
        "== stdout: 1 kinds of changes\n"
        "\n"
        "2 runs: [+ isControl: BOOLEAN+] after `isTransactional: BOOLEAN`\n"
        "    short: --files 0.log\n"
        "    - baseOffset: 0 isTransactional: false position: 0 size: 68\n"
        "    + baseOffset: 0 isTransactional: false isControl: false position: 0 size: 68\n"
        "\n"
    )


def _kept(folder: Path, texts: dict[str, str]) -> review.Goldens:
    """The goldens of a folder in which releases printed these texts."""
    folder.mkdir()
    with mock.patch.object(stored, "FOLDER", folder):
        stored.write({release: [_golden("a", text)] for release, text in texts.items()})
    return review.kept_in(folder)


def test_what_a_packed_release_prints_now_is_shown_in_text_with_its_releases(tmp_path: Path) -> None:
    before = _kept(tmp_path / "before", {"3.0.0": "one\n", "2.0.1": "size: 1\n", "2.0.0": "size: 1\n"})
    after = _kept(tmp_path / "after", {"3.0.0": "one\n", "2.0.1": "size: 2\n", "2.0.0": "size: 2\n"})
    assert (tmp_path / "after" / "2.0.1.jsonl.xz").exists()
    found = review.differences(before, after)
    assert list(found.values()) == [["2.0.1", "2.0.0"]]
    assert "".join(review.report(found, 5)) == (
        "1 differences\n\n== a (2.0.1, 2.0.0)\n@@ -2,2 +2,2 @@\n exit 0\n-> size: 1\n+> size: 2\n"
    )
