"""`kdump report`: one page that needs nothing else, has each finding of a check, and obeys no name in it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

import kdump
from kdump.checks.finding import Finding, Start
from kdump.checks.settings import FULL, HEADERS
from kdump.cli import commands
from kdump.output.html import charts
from kdump.overview import ticket
from kdump.overview.map_rows import MapSpan
from kdump.overview.partition_map import partition_map
from tests.builders.files import write_partition
from tests.builders.records import Record, batch
from tests.loops import each

CASES = Path("golden_outputs/cases")
START = 1_700_000_000_000
VOID = ("meta", "input")


class Page(HTMLParser):
    """The elements of a page, and the texts of those that scripts and styles are in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.raw: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        self.ids += [given["id"] or ""] if "id" in given else []
        if tag not in VOID:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.inside[-1:] in (["script"], ["style"]):
            self.raw.append((self.inside[-1], data))
        else:
            self.text += data

    def all_of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def _page(*paths: Path, level: str = "deep", evidence: bool = False) -> tuple[str, Page]:
    text = kdump.report(*paths, level=level, evidence=evidence)
    page = Page(text)
    assert page.inside == []
    assert len(page.ids) == len(set(page.ids))
    targets = {str(attributes["href"]) for attributes in page.all_of("a")}
    assert {target[1:] for target in targets} <= set(page.ids) and all(target.startswith("#") for target in targets)
    return text, page


def _damaged() -> list[Path]:
    found = [path for path in sorted(CASES.glob("partition-*")) if kdump.check(path).findings]
    assert len(found) >= 5
    return found[:12]


def _batch(offset: int, size: int = 100) -> bytes:
    return batch(base_offset=offset, base_timestamp=START + 1000 * offset, records=[Record(value=bytes(size))])


def test_every_finding_of_a_check_is_on_the_page_with_its_bytes_and_its_explanation() -> None:
    for path in _damaged():
        _, page = _page(path, evidence=True)
        findings = kdump.check(path).findings
        assert f"Verdict: {kdump.verdict(path).text}. Exit status {kdump.verdict(path).exit_code}." in page.text
        items = [attributes["id"] for attributes in page.all_of("li") if str(attributes.get("id")).startswith("f")]
        assert len(items) == len(findings)
        for finding in findings:
            assert f"explain-{finding.code}" in page.ids
            assert finding.message in page.text
            shown = re.sub(r"^ *[\d,]+  |[ \n]", "", page.text, flags=re.MULTILINE)
            assert finding.evidence is None or finding.evidence in shown
        assert "\\n" not in page.text
        assert "the first bytes in hex" not in kdump.report(path), "they may be of a record"


def test_the_page_asks_for_nothing_and_its_policy_allows_its_own_script_and_style_alone() -> None:
    text, page = _page(*_damaged())
    assert len(page.all_of("a")) > 20
    assert {f"f{identity[1:]}" for identity in page.ids if re.fullmatch(r"m\d+", identity)} <= set(page.ids)
    assert "://" not in text
    assert not any(name in attributes for _, attributes in page.tags for name in ("src", "style", "srcset", "action", "data"))
    assert {"link", "img", "iframe", "object", "embed", "base", "form"}.isdisjoint(tag for tag, _ in page.tags)
    policy = next(str(one["content"]) for one in page.all_of("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    code = [raw for tag, raw in page.raw if tag == "script" and not raw.startswith("{")]
    style = [raw for tag, raw in page.raw if tag == "style"]
    for (text_of,), name in ((code, "script-src"), (style, "style-src")):
        digest = base64.b64encode(hashlib.sha256(text_of.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}';" in policy


@each("topic", ["<script>alert(1)", '"><img src=x onerror=alert(1)>', "a\x1b[31mb\u202e", "支付", "&amp;'"])
def test_names_are_text_whatever_is_in_them(topic: str, tmp_path: Path) -> None:
    directory = tmp_path / f"{topic}-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(_batch(0) + b"x" * 50)
    text, page = _page(directory)
    assert page.all_of("img") == []
    assert sum("type" not in attributes for attributes in page.all_of("script")) == 1
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "\x1b" not in text and "\u202e" not in text
    if topic.isprintable():
        assert f"{topic}-0" in page.text


def test_what_is_not_examined_is_neither_good_nor_bad_and_what_was_not_read_has_no_records(tmp_path: Path) -> None:
    for number in range(21):  # more than are drawn and read as a whole
        write_partition(tmp_path, partition=number, segments={0: [_batch(0)], 1: [_batch(1)], 2: [_batch(2)]}, topic="orders")
    text, page = _page(tmp_path, level="quick")
    row = re.search(rf"<tr><th[^>]*>{tmp_path}/orders-3</th>.*?</tr>", text)
    assert row is not None and re.findall(r"<td[^>]*>([^<]*)</td>", row[0])[4:8] == ["3", "0", "3", "–"]
    assert page.all_of("p")[0].get("class") == "verdict clean"
    size = sum(path.stat().st_size for path in (tmp_path / "orders-0").iterdir())
    (tmp_path / "orders-0" / "notes.txt").write_bytes(bytes(3000))
    _, page = _page(tmp_path / "orders-0", tmp_path / "nowhere")
    assert page.all_of("p")[0].get("class") == "verdict unknown" and f"Examined {size} bytes in " in page.text
    path = tmp_path / "orders-1" / f"{0:020d}.log"
    path.write_bytes(_batch(0)[:-1] + b"x")
    _, page = _page(tmp_path)
    assert page.all_of("p")[0].get("class") == "verdict bad"


@pytest.mark.parametrize("fault", ["none", "lost+found", "metadata", "twice", "torn"])
def test_the_verdict_on_directories_is_that_of_a_check(fault: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    directories = [tmp_path / name for name in ("one", "two")]
    for directory, topic in zip(directories, ("orders", "pay"), strict=True):
        path = write_partition(
            directory, segments={0: [_batch(0)], 1: [_batch(1)]}, topic="orders" if fault == "twice" else topic
        )
        (directory / "meta.properties").write_text("version=1\nnode.id=7\ncluster.id=abcdefghijklmnopqrstuv\n")
    if fault == "lost+found":
        (directories[1] / fault).mkdir()
    elif fault == "metadata":
        (path / "partition.metadata").write_bytes(b"version: x")
    elif fault == "torn":
        (path / f"{0:020d}.log").write_bytes(_batch(0)[:-1])
    code = commands.main(["check", "--level", "deep", "--output", "json", *map(str, directories)])
    checked = json.loads(capfd.readouterr().out)
    summary = checked["summary"]
    assert code == int(fault != "none")
    _, page = _page(*directories)
    assert f"Verdict: {summary['verdict']}. Exit status {code}." in page.text
    assert all(reason in page.text for reason in summary["reasons"])
    assert sum(re.fullmatch(r"f\d+", identity) is not None for identity in page.ids) == len(checked["findings"])
    commands.main(["check", "--level", "deep", *map(str, directories)])
    typed = re.findall(r"^  ((?:kdump|mkdir) .*)", capfd.readouterr().out, re.MULTILINE)
    assert (fault == "none" or typed) and all(line in page.text for line in typed)


def test_charts_add_up_to_the_bytes_that_are_there(tmp_path: Path) -> None:
    segments = {first: [_batch(offset) for offset in range(first, first + 100)] for first in (0, 100)}
    made = partition_map(write_partition(tmp_path, segments=segments, topic="orders"))
    sizes = charts.bytes_over_time(made)
    assert sizes.xs[0] == START and abs(sum(sizes.ys) - 200 * len(_batch(0))) <= len(sizes.ys)
    times = charts.times_in_order(made)
    assert (times.xs[-1], times.ys[-1]) == (200 * len(_batch(0)), START + 199_000)
    assert times.xs == sorted(times.xs) and times.ys == sorted(times.ys)
    made.spans = {"log": [MapSpan("log", "sound", 0, 1500, 0, 9, START, START + 150_000)]}
    assert charts.bytes_over_time(made).ys == [10] * 150, "what is of a longer time is spread over it"
    filled = charts.Chart("t", [0, 10], [50, 100], is_of_sizes=True).figure()
    assert "M0,140L0.0,70.0L1000.0,2.0L1000,140z" in filled, "half as high as what is twice as much"


def test_drawings_and_tables_have_names_for_those_who_do_not_see_them() -> None:
    _, page = _page(CASES / "partition-torn-header")
    assert len(page.all_of("caption")) == len(page.all_of("table")) > 4
    for svg in page.all_of("svg"):
        assert not re.search(r"\b0 bytes", svg.get("aria-label") or "")
        assert svg.get("aria-label") or svg.get("aria-hidden") or svg.get("class") == "cells" or svg.get("width") == "12"
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1 and all(after <= before + 1 or before == 2 and after == 4 for before, after in pairwise(levels))


def test_findings_that_are_many_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [bytearray(_batch(offset)) for offset in range(100)]
    for one in broken[::2]:
        one[20] ^= 1
    path = write_partition(tmp_path, segments={0: list(map(bytes, broken))}, topic="orders")
    assert sum(finding.code == "crc-mismatch" for finding in kdump.check(path)) == 50
    text, page = _page(path)
    assert "30 more crc-mismatch in " in page.text
    assert any(path.count("M") == 30 for path in re.findall(r'd="([Mv\d.,]+)" class="mark finding"', text))
    other = write_partition(tmp_path, segments={0: list(map(bytes, broken))}, topic="others")
    monkeypatch.setattr("kdump.output.html.page._MOST_FINDINGS", 7)
    _, page = _page(path, other)
    assert [identity for identity in page.ids if re.fullmatch(r"f\d+", identity)] == [f"f{number}" for number in range(1, 8)]
    assert "43 more crc-mismatch in " in page.text and "and 50 more findings in other places" in page.text


def test_segments_that_are_many_are_counted_and_no_link_leads_to_one_that_is_not_drawn(tmp_path: Path) -> None:
    segments = {first: [_batch(first), _batch(first + 1) + b"x" * 9] for first in range(0, 80, 2)}
    path = write_partition(tmp_path, segments=segments, topic="orders")
    _, page = _page(path)
    drawn = [one for one in page.all_of("svg") if one.get("class") == "cells"]
    assert 3 * 20 <= len(drawn) <= 3 * 24
    assert re.search(r"and 1\d more segments", page.text)
    marks = {identity for identity in page.ids if re.fullmatch(r"m\d+", identity)}
    assert len(marks) >= 20


def test_the_command_writes_the_page_into_a_new_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case, out = CASES / "partition-torn-header", tmp_path / "report.html"
    assert commands.main(["report", str(case)]) == 2
    assert "needs a file for the page" in capsys.readouterr().err
    assert commands.main(["report", str(case), "-o", str(out)]) == kdump.check(case).exit_code == 1
    made = r"Made by kdump .*? s\."
    assert re.sub(made, "", out.read_text()) == re.sub(made, "", kdump.report(case))
    assert commands.main(["report", str(case), "-o", str(out)]) == 2
    damaged = write_partition(tmp_path, segments={0: [_batch(0)[:-1] + b"x"]}, topic="orders")
    for words, has_evidence in ([], False), (["--evidence"], True):
        assert commands.main(["report", *words, str(damaged), "-o", str(tmp_path / f"of-{has_evidence}")]) == 1
        assert ("the first bytes in hex" in (tmp_path / f"of-{has_evidence}").read_text()) == has_evidence
    with pytest.raises(kdump.Unreadable):
        commands.main(["report", str(tmp_path / "none"), "-o", str(tmp_path / "two")])
    assert not (tmp_path / "two").exists()


def _found(code: str, severity: str, path: str = "/a") -> Finding:
    return Finding(code, severity, path, "log", 0, 9, None, None, None, None, None, None, 1, "none", 0, "keep", "Odd.")


SEVERITIES: list[tuple[list[str], str]] = [
    *(([], HEADERS), (["info"], HEADERS), (["info", "warning"], FULL), (["error", "info"], FULL))
]


@each("count, bad, drawn", [(20, 0, 20), (21, 0, 0), (21, 3, 3), (40, 25, 20)])
def test_the_worst_partitions_are_drawn_of_many(count: int, bad: int, drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """First those with more errors; one whose next start loses is bad without any."""
    monkeypatch.setattr(ticket, "map_of", lambda report: report.path)
    found, paths = ticket.Ticket([], "deep"), [f"/a-{number}" for number in range(count)]
    for number in range(bad):
        for _ in range(number + 1):
            found.take(_found("crc-mismatch", "error", f"{paths[number]}/0.log"), paths[number])
    worst = list(reversed(paths[:bad]))
    if bad:
        found.take(Start(paths[-1], "4.3.1", "unclean", 0, False, "loss", 1, 0, None, "why"), paths[-1])
        worst, drawn = [*worst, paths[-1]], min(drawn + 1, 20)
    assert list(map(str, ticket._maps(found, paths)))[: len(worst)] == worst[:drawn]
    assert len(list(ticket._maps(found, paths))) == drawn
