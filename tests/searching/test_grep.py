"""`kdump grep` and `kdump.grep`: what matches, what the verdict is, certificates, partitions."""

import copy
import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest

import kdump
from kdump.cli.commands import main
from kdump.cli.searching.run import _Shown
from kdump.errors import Unreadable, UsageError
from kdump.formats.ranges import Range
from kdump.output.rows.hits import NotRead, SearchVerdict
from kdump.output.text.grep import gap_line, verdict_lines
from kdump.searching import certificate
from kdump.searching.file_search import FileSearch
from kdump.searching.grep import Search
from kdump.searching.literals import required_literal
from kdump.searching.log_search import Found
from kdump.searching.partitioner import murmur2, partition_of
from kdump.searching.query import Query
from tests.builders.compression import Codec
from tests.builders.files import write_partition
from tests.builders.records import TIMESTAMP, batch, message, message_set, record, transaction_marker, wrapper
from tests.loops import each
from tests.searching.conftest import Run
from tests.support import Patch, let_fail

ROOT = Path(__file__).parents[2]
FIRST = "00000000000000000000"
HEADERS = [("h", b"needle"), ("needle", b"x")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A log directory with the partition orders-0."""
    batches = [
        batch(records=[record(key=b"ab", value=b"cdef"), record(key=b"k", value=b"Needle")]),
        batch(base_offset=2, codec="gzip", records=[record(key=b"k2", value=b"a needle here", headers=HEADERS)]),
        batch(base_offset=3, records=[record(key=b"gone", value=None), record(key=None, value=b"")]),
    ]
    write_partition(tmp_path / "data", topic="orders", segments={0: batches})
    return tmp_path / "data"


def _log(data: Path) -> Path:
    return data / "orders-0" / f"{FIRST}.log"


def _found(*arguments: Any, **options: Any) -> list[tuple[int | None, list[str]]]:
    return [(hit.offset, hit.matched) for hit in kdump.grep(*arguments, **options)]


# --- what matches


MATCHES: list[tuple[str | bytes | None, dict[str, Any], list[tuple[int, list[str]]]]] = [
    ("ab", {}, [(0, ["key"])]),
    ("bcd", {}, []),  # a size lies between, but no pattern may cross it either way
    (b"ab\x08cd", {}, []),
    ("needle", {}, [(2, ["value", "header:h"])]),  # it is compressed
    ("needle", {"fields": ["header-name"]}, [(2, ["header-name:needle"])]),
    ("NEEDLE", {"ignore_case": True}, [(1, ["value"]), (2, ["value", "header:h"])]),
    ("^cd.f$", {"kind": "regex"}, [(0, ["value"])]),  # an expression sees one field at a time
    ("^$", {"kind": "regex"}, [(4, ["value"])]),
    # all conditions must hold
    (None, {"key": "gone", "tombstones": True}, [(3, ["key", "tombstone"])]),
    *((None, {"headers": {"h": value}}, [(2, ["header:h"])] * (value == "needle")) for value in ("needle", "x")),
    ("k", {"from_offset": 2, "to_offset": 2}, [(2, ["key"])]),
    *(("k2", {end: TIMESTAMP}, [(2, ["key"])]) for end in ("from_time", "to_time")),
    *(("k2", times, []) for times in ({"from_time": TIMESTAMP + 1}, {"to_time": TIMESTAMP - 1})),
    ("4e 65", {"kind": "hex"}, [(1, ["value"])]),
]


@pytest.mark.both_kernels
@each("pattern, options, found", MATCHES, ids=[f"{pattern!r}-{options}" for pattern, options, _ in MATCHES], quick=13)
def test_a_record_matches_in_some_of_its_fields(
    pattern: str | bytes | None, options: dict[str, Any], found: list[tuple[int, list[str]]], data: Path
) -> None:
    assert _found(pattern, data, **options) == found


OF_COMMAND: list[tuple[str, list[int]]] = [
    *(("--header h=needle", [2]), ("--header h=x", []), ("--header needle", [2]), ("--header h=", [])),
    *(("--hex --header h=6e6565646c65", [2]), ("--hex --key 6b -e 4e65", [1]), ("--tombstones", [3]), ("--producer 7", [])),
    *(("-i -e needle --producer -1", [1, 2]), ("--in header-name,key -e needle", [2]), ("--in key -e needle", [])),
    *(("-E -e ^cd.f$", [0]), ("-F -e ^cd.f$", []), ("--from-offset 1 --to-offset 2 -e e", [1, 2]), ("--limit 1 -e e", [0])),
    ("--topics ord* --partitions 0 -e k2", [2]),
]


@each("words, found", OF_COMMAND)
def test_the_options_of_the_command_are_conditions(words: str, found: list[int], run: Run, data: Path) -> None:
    code, shown, _ = run(*words.split(), data, "--output", "ndjson")
    rows = [json.loads(line) for line in shown.splitlines()]
    assert ([row["offset"] for row in rows[:-1]], code) == (found, 0 if found else 1)


OF_FILES, OF_CERTIFICATES = ("-o {new} --count", "-o {new} -l"), (("7.index", ""), ("v.json", " of version 1"))
WRONG = [
    ("-E ( {data}", "no regular expression"),
    ("-F -E x {data}", "-F, -E and --hex do not go together"),
    ("--count -l x {data}", "--count and --files-with-matches do not go together"),
    ("--context 1001 x {data}", "--context can be 1000 at most"),
    ("--certificate {new} x {data}", "--certificate goes with --prove-absent"),
    *((f"--output parquet {more} x {{data}}", "parquet holds matches, and needs a file") for more in ("", *OF_FILES)),
    ("--prove-absent --certificate hdfs://h/c.json x {data}", "is a URL, but the certificate must be on this machine"),
    ("--output parquet -o hdfs://h/x x {data}", "is a URL, but the output must be on this machine"),
    *(("x", "grep needs a path"), ("--in keys x {data}", "there is no field keys"), ("--release 0.0.1 x {data}", "0.0.1")),
    *((f"--where {wrong} {{data}}", f"--where {wrong}: write PATH=VALUE") for wrong in ("=5", "a")),
    ("--decode none --key-decoder string --key k {data}", "--decode none decodes nothing"),
    ("--key-decoder string --key k {data}", "Kafka's lines show keys and values as they are"),
    *((f"x {{data}}/{name}", f"{name} holds no records") for name in ("leader-epoch-checkpoint", "7.index")),
    *((f"--verify {{data}}/{name}", f"is no certificate of kdump grep{of}\n") for name, of in OF_CERTIFICATES),
]


@each("words, said", WRONG)
def test_what_cannot_be_asked_is_refused(words: str, said: str, run: Run, data: Path, tmp_path: Path) -> None:
    for name, text in (("leader-epoch-checkpoint", "0\n0\n"), ("7.index", ""), ("v.json", '{"kind": "kdump-grep-certificate"}')):
        (data / name).write_text(text)
    code, shown, err = run(*(word.format(data=data, new=tmp_path / "new") for word in words.split()))
    assert (code, shown, err[:7], said in err) == (2, "", "kdump: ", True), err
    assert not list(tmp_path.iterdir())


def test_json_conditions_read_paths(tmp_path: Path) -> None:
    values: list[bytes | None] = [b'{"user":{"id":%s}}' % text for text in (b"42", b'"42"', b"true")]
    values += [b'\0\0\0\0\1{"l":[{"s":"A"}]}', b"no", None]
    values += [b'12345{"user":{"id":42}}', b"[" * 100_000]  # only a zero starts what a registry's serializer writes
    path = write_partition(tmp_path, topic="a", segments={0: [batch(records=[record(value=value) for value in values])]})
    assert _found(None, path, where=["user.id=42"]) == [(0, ["json:user.id"]), (1, ["json:user.id"])]
    search = kdump.grep(None, path, where=["l.*.s=A"])
    assert [hit.offset for hit in search] == [3]
    assert [gap.code for gap in search.not_read] == ["json-too-large"]  # the last value: nobody can say


def test_a_literal_that_each_match_needs_is_found_or_none() -> None:
    wanted = {b"^user-[0-9]+": b"user-", b"ab*cd": b"cd", b"(foo)?barx": b"barx", b"a|bc": None, b"[abc]": None, b"x{2}yz": b"yz"}
    found = {pattern: required_literal(pattern, folds=False) for pattern in wanted}
    assert {pattern: literal and literal.data for pattern, literal in found.items()} == wanted


PIECES = dict[bytes, bytes](
    [
        *((b"ab", b"ab"), (b"[]xyz]y", b"]y"), (b"[^]abc]b", b"zb"), (rb"[\]abc]cd", b"]cd"), (rb"[a\]bcd]ef", b"]ef")),
        *((b"e*f", b"f"), (b"g?", b""), (b"h{2}ij", b"hhij"), (b"h{0}ij", b"ij"), (b"uv+", b"uvv"), (b"w{,2}ab", b"ab")),
        *((b"(kl)?m", b"m"), (b"(kl)m", b"klm"), (b"(no(p)qrs)?tu", b"tu"), (b"(r|s)t", b"st"), (b"(?:no)?pq", b"pq")),
        *((rb"\.n", b".n"), (b".q", b"zq"), (rb"\x41op", b"Aop"), (rb"\101st", b"Ast"), (rb"(u)\1vw", b"uuvw"), (rb"\dz", b"1z")),
    ]
)
"""Parts of regular expressions, each with bytes that it matches."""


def test_the_literal_of_an_expression_stands_in_what_it_matches() -> None:
    """Or grep would say that a text is absent which is there."""
    chance = random.Random(60)
    for number in range(600):
        parts = chance.sample(sorted(PIECES), 3)
        pattern, text = b"".join(parts), b"".join(map(PIECES.__getitem__, parts))
        if number % 3 == 0:
            pattern, text = b"(?i)" + pattern, text.swapcase()
        if re.fullmatch(pattern, text) is None:
            continue  # as where one part changes what the next one means
        literal = required_literal(pattern, folds=False)
        assert literal is None or literal.data in text, (pattern, text)


# --- the verdict


@pytest.mark.both_kernels
@pytest.mark.parametrize(
    ("damage", "codes"),
    [
        (lambda log: log, []),
        (lambda log: log[:-3], ["torn-tail"]),
        (lambda log: log + bytes(100), ["zero-tail"]),
        (lambda log: log[:70] + b"x" + log[71:], ["crc-mismatch"]),
    ],
)
def test_absent_needs_each_byte_to_be_intact(damage: Callable[[bytes], bytes], codes: list[str], data: Path) -> None:
    _log(data).write_bytes(damage(_log(data).read_bytes()))
    assert _verdict(data) == ("not proven" if codes else "absent", 3 if codes else 1, codes)


def _verdict(path: Path, pattern: str = "nowhere", **options: Any) -> tuple[str, int, list[str]]:
    search = kdump.grep(pattern, path, **options)
    assert list(search) == []
    return search.verdict.verdict, search.verdict.exit_code, [gap.code for gap in search.not_read]


@pytest.mark.parametrize("magic", [1, 2])
def test_matches_whose_offsets_may_be_wrong_are_said(magic: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def two(offset: int) -> bytes:
        if magic == 1:
            return wrapper(messages=[message(value=b"v%d" % (offset + row)) for row in range(2)], base_offset=offset)
        return batch(base_offset=offset, records=[record(value=b"v%d" % (offset + row)) for row in range(2)])

    batches = [two(offset) for offset in range(0, 20, 2)]
    batches[5] = batches[5][:5] + b"\1" + batches[5][6:]  # 65,536 too high
    (tmp_path / f"{0:020}.log").write_bytes(b"".join(batches))
    search = kdump.grep("v11", tmp_path)
    assert [(hit.offset, hit.status) for hit in search] == [(11 + (1 << 16), "salvaged")]
    (tmp_path / f"{20:020}.log").write_bytes(two(20))
    assert kdump.grep("v", tmp_path).verdict.salvaged_hits == 0 == search.verdict.salvaged_hits - 1
    assert main(["grep", "v11", str(tmp_path)]) == 0
    assert "1 match lies in batches out of line, whose offsets may be wrong" in capfd.readouterr().err


def test_what_is_not_there_proves_nothing(data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert _verdict(tmp_path / "empty") == ("not proven", 3, ["file-missing"])
    assert _verdict(tmp_path / "none") == ("not proven", 3, ["file-missing"])
    os.symlink(data / "orders-0", tmp_path / "empty" / "orders-0")
    assert _verdict(tmp_path / "empty") == ("not proven", 3, ["file-link-outside"])


@pytest.mark.both_kernels
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("is_alone", [False, True])
def test_a_batch_whose_records_cannot_be_read_is_never_absent(codec: Codec, is_alone: bool, run: Run, tmp_path: Path) -> None:
    """Though its CRC matches, and the text stands nowhere in its bytes; only records that were decoded count."""
    bad = batch(base_offset=4, codec=codec, payload=b"\x7fnothing to read" * 9, records_count=4, last_offset_delta=3)
    sound = [] if is_alone else [batch(base_offset=base, codec=codec, records=[record(value=b"v")] * 4) for base in (0, 8)]
    write_partition(tmp_path, topic="a", segments={0: [*sound[:1], bad, *sound[1:]]})
    search = kdump.grep("needle", tmp_path)
    assert list(search) == []
    verdict, decoded = search.verdict, 4 * len(sound)
    assert (verdict.verdict, verdict.exit_code) == ("not proven", 3)
    assert (verdict.records, verdict.claimed_records) == (decoded, decoded + 4)
    assert [(gap.offset, gap.next_offset) for gap in search.not_read] == [(4, 8)]
    place = tmp_path / "certificate.json"
    code, _, said = run("--prove-absent", "--certificate", place, "needle", tmp_path / "a-0")
    assert (code, f" {decoded} of {decoded + 4} records searched\n" in said) == (3, True)
    body = json.loads(place.read_text())
    assert (body["verdict"], body["records"], body["claimedRecords"]) == ("not proven", decoded, decoded + 4)
    assert [(file["records"], file["claimedRecords"]) for file in body["files"]] == [(decoded, decoded + 4)]
    assert run("--verify", place)[0] == 3


def test_the_records_before_an_unreadable_one_count(tmp_path: Path) -> None:
    half = batch(records=[record(value=b"v"), record(value=b"v"), b"\x7fno record"], last_offset_delta=5, records_count=6)
    write_partition(tmp_path, topic="a", segments={0: [half, batch(base_offset=6, records=[record()])]})
    search = kdump.grep("needle", tmp_path)
    assert list(search) == []
    assert (search.verdict.records, search.verdict.claimed_records) == (3, 7)


# --- is it gone?


def test_files_that_are_about_to_be_deleted_are_searched_for_a_proof(data: Path) -> None:
    log = _log(data)
    (log.parent / f"{FIRST}.log.deleted").write_bytes(log.read_bytes())
    gone = data / "old-1.0123456789abcdef0123456789abcdef-delete"
    gone.mkdir()
    (gone / f"{FIRST}.log").write_bytes(batch(base_offset=0, records=[record(value=b"secret")]))
    assert _verdict(data, "secret") == ("not proven", 3, [])
    search = kdump.grep("secret", data, prove_absent=True)
    assert [hit.topic for hit in search] == ["old"]
    assert {file.state for file in search.files} == {None, "deleted", "delete"}


@pytest.mark.parametrize("suffix", ["delete", "stray", "future"])
@pytest.mark.parametrize("mark", ["", ".deleted"])
def test_a_marked_directory_that_is_named_is_searched(suffix: str, mark: str, data: Path, run: Run) -> None:
    gone = data / f"old-1.0123456789abcdef0123456789abcdef-{suffix}"
    gone.mkdir()
    (gone / f"{FIRST}.log{mark}").write_bytes(batch(base_offset=0, records=[record(value=b"secret")]))
    for named in (gone, f"{gone}{os.sep}", data / f"old-*-{suffix}", gone / f"{FIRST}.log{mark}"):
        assert _found("secret", named) == [(0, ["value"])]
        assert run("nowhere", named)[0] == 1
    is_walked = suffix == "future" and not mark
    assert len(_found("secret", data)) == is_walked


def test_where_no_file_was_searched_nothing_is_absent(data: Path, run: Run, tmp_path: Path) -> None:
    log = _log(data)
    swap = log.rename(f"{log}.swap")  # a start puts it in its place
    assert run("nowhere", data)[0] == 1
    renamed = swap.rename(f"{log}.1")  # by logrotate
    assert _verdict(data) == ("not proven", 3, ["file-not-recognized"])
    renamed.rename(f"{log}.deleted")
    assert _verdict(data) == ("not proven", 3, [])
    code, _, said = run("nowhere", data)
    assert (code, "kdump: not proven: nothing was searched\n" in said) == (3, True)
    assert "1 file about to be deleted or set aside was not searched: it may be there all the same; --prove" in said
    write_partition(tmp_path / "more", topic="keys", segments={0: [batch(records=[record(key=b"21")])]})
    other = next(key for key in (b"a", b"b", b"c", b"d") if partition_of(key, 2) == 1)
    search = kdump.grep(None, tmp_path / "more", key=other, partition_count=2)
    assert (list(search), search.verdict.verdict, search.verdict.exit_code) == ([], "not proven", 3)
    empty = write_partition(tmp_path / "none", topic="none", segments={0: []})
    assert _verdict(empty) == ("absent", 1, [])


def test_a_certificate_about_no_file_never_says_absent(data: Path, run: Run, tmp_path: Path) -> None:
    place = tmp_path / "gone.json"
    run("--prove-absent", "--certificate", place, "nowhere", data)
    body = json.loads(place.read_text())
    body |= {"files": [], "bytes": 0, "batches": 0, "records": 0, "claimedRecords": 0}
    body["certificateSha256"] = certificate._digest_of({k: v for k, v in body.items() if k != "certificateSha256"})
    place.write_text(json.dumps(body))
    assert run("--verify", place)[0] == 2


def test_a_certificate_shows_whether_the_files_are_still_the_same(run: Run, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "gone.json"
    code, _, said = run("--prove-absent", "--certificate", place, "nowhere", data)
    assert (code, "kdump: absent: no record matches" in said) == (1, True)
    body = json.loads(place.read_text())
    assert [(file["path"], file["firstOffset"], file["lastOffset"]) for file in body["files"]] == [(str(_log(data)), 0, 4)]
    assert body["options"]["pattern"] == "nowhere"
    assert run("--verify", place)[0] == 0
    moved = tmp_path / "moved"
    data.rename(moved)
    assert (run("--verify", place)[0], run("--verify", place, moved)[0]) == (1, 0)
    code, _, said = run("--verify", place, moved, moved)
    assert (code, "the certificate is about 1 paths" in said) == (2, True)
    (moved / "orders-0" / "00000000000000000005.log").write_bytes(b"")
    code, shown, _ = run("--verify", place, moved)
    assert (code, ": new: " in shown) == (1, True)
    (moved / "orders-0" / "00000000000000000005.log").unlink()
    with _log(moved).open("r+b") as file:
        file.write(b"\1")
    code, shown, said = run("--verify", place, moved)
    assert (code, "its SHA-256 differs" in shown) == (1, True)
    assert said == "kdump: 0 files are the same, 1 not; the certificate says absent\n"
    code, shown, _ = run("--verify", place, moved, "--output", "ndjson")
    row = json.loads(shown)
    assert (code, row["status"], row["message"]) == (1, "changed", "its SHA-256 differs")
    place.write_text(place.read_text().replace('"absent"', '"found"'))
    assert run("--verify", place, moved)[0] == 2


def test_a_certificate_needs_readable_files_and_overwrites_none(run: Run, data: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    place = tmp_path / "gone.json"
    run("--prove-absent", "--certificate", place, "nowhere", data)
    written = place.read_bytes()
    assert run("--prove-absent", "--certificate", place, "secret", data)[:2] == (2, "")
    assert place.read_bytes() == written

    def unreadable(_source: object) -> str:
        raise Unreadable("file-io-error", "Input/output error")

    monkeypatch.setattr(certificate, "digest", unreadable)
    assert run("--verify", place)[0] == 3


@pytest.mark.parametrize(("damage", "code"), [(b"", 0), (b"x" * 100, 3)])
def test_a_search_without_a_reader_says_what_it_read(run: Run, data: Path, monkeypatch: Patch, damage: bytes, code: int) -> None:
    _log(data).write_bytes(_log(data).read_bytes() + damage)
    shown = _Shown.all

    def all_then_gone(self: _Shown) -> None:
        shown(self)
        raise BrokenPipeError

    monkeypatch.setattr(_Shown, "all", all_then_gone)
    assert run("secret", data)[0] == code


def _values_and_places(body: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    for key, value in body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ():
        yield from _values_and_places(value, (*place, key))


def test_a_certificate_that_kdump_did_not_write_is_refused(run: Run, data: Path, tmp_path: Path) -> None:
    """Whatever is in it, also if its digest was made again: no traceback, and no sums or verdict that contradict its files."""
    place = tmp_path / "gone.json"
    run("--prove-absent", "--certificate", place, "nowhere", data)
    body = json.loads(place.read_text())
    os.link(body["files"][0]["path"], tmp_path / "a.avsc")
    body["schemas"] = {"places": [str(tmp_path / "schemas")], "files": [body["files"][0] | {"path": str(tmp_path / "a.avsc")}]}
    codes = Counter[int]()
    values: tuple[Any, ...] = (None, -1, "x", [], {}, [None], [{}], "/\0", "/\ud800")
    for path, value in product(list(_values_and_places(body)), values):
        changed = copy.deepcopy(body)
        inner = changed
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        changed["certificateSha256"] = certificate._digest_of({k: v for k, v in changed.items() if k != "certificateSha256"})
        place.write_text(json.dumps(changed))
        code, _, _ = run("--verify", place)
        codes[code] += 1
        if path[0] in ("verdict", "hits", "bytes", "records", "batches", "paths"):
            assert code == 2, (path, value)
        assert code == 2 or value not in (-1, [None], [{}]) or path[-1] != "files", (path, value)
        assert code or path[-1] not in ("path", "size", "sha256"), (path, value)  # no file is the same without them
    assert codes.keys() <= {0, 1, 2, 3} and codes[2] > 100


# --- partitions


def test_keys_are_hashed_as_the_java_client_does() -> None:
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}
    assert {key: murmur2(key) - (murmur2(key) >> 31 << 32) for key in known} == known
    assert partition_of(b"21", 6) == (-973932308 & 0x7FFFFFFF) % 6


def test_only_the_partition_of_the_key_is_read(run: Run, tmp_path: Path) -> None:
    for partition in range(3):
        segments = {0: [batch(records=[record(key=b"21", value=b"v"), record(value=b"without a key")])]}
        write_partition(tmp_path, topic="orders", partition=partition, segments=segments)
    right = partition_of(b"21", 3)
    search = kdump.grep(None, tmp_path, key="21", partition_count=3)
    assert [(hit.partition, hit.expected_partition) for hit in search] == [(right, right)]
    assert len(search.files) == 1
    said = run("--key", "21", "--partition-count", 3, tmp_path)[2]
    assert f"kdump: found: 1 record matches in partition {right}, the only one that was searched; 1 file, " in said
    assert "kdump: 2 keys not in the partition of the default partitioner\n" in run("--partition-count", 3, tmp_path)[2]
    search = kdump.grep(None, tmp_path, partition_count=3)
    assert [hit.partition for hit in search] == [partition for partition in range(3) if partition != right]
    assert search.verdict.misplaced == 2
    with pytest.raises(UsageError, match="there is a partition 2"):
        kdump.grep(None, tmp_path, key="21", partition_count=2)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / f"{FIRST}.log").write_bytes(batch(records=[record(key=b"21")]))  # whose partition nobody knows
    assert {hit.partition for hit in kdump.grep(None, tmp_path, key="21", partition_count=3)} == {right, None}
    assert {hit.partition for hit in kdump.grep(None, tmp_path, partition_count=3)} == {0, 1, 2} - {right}


def test_what_is_asked_in_python_has_a_path_a_kind_and_fields(data: Path) -> None:
    asked: list[tuple[str, Callable[[], object]]] = [
        ("grep needs a path", lambda: kdump.grep("x")),
        ("there is no kind 'glob'", lambda: kdump.grep("x", data, kind="glob")),
        ("there is no field in an empty list", lambda: Query(b"x", fields=())),
        ("and not both", lambda: kdump.where(None, data)),
    ]
    for said, ask in asked:
        with pytest.raises(UsageError, match=said):
            ask()


def test_transaction_markers_are_in_no_wrong_partition(tmp_path: Path) -> None:
    wrong = next(key for key in (b"a", b"b", b"c", b"d") if partition_of(key, 3) == 1)  # as would be the key of an abort
    batches = [
        batch(base_offset=0, records=[record(key=wrong)], producer_id=7, producer_epoch=0, base_sequence=0, attributes=0x10),
        transaction_marker(base_offset=1, producer_id=7, producer_epoch=0, is_commit=False),
    ]
    write_partition(tmp_path, topic="orders", segments={0: batches})
    search = kdump.grep(None, tmp_path / "orders-0", partition_count=3)
    assert [(hit.offset, hit.expected_partition) for hit in search] == [(0, 1)]
    assert search.verdict.misplaced == 1
    assert [hit.expected_partition for hit in kdump.grep("", tmp_path / "orders-0", partition_count=3)] == [1, None]
    assert [hit.offset for hit in kdump.grep(None, tmp_path, producer=7, partition_count=3)] == [0, 1], "wherever they are"


# --- the command


def test_a_table_has_a_line_for_each_match(run: Run, data: Path) -> None:
    _, out, _ = run("needle", data, "--output", "table")
    headings, rule, *rows = out.splitlines()[1:]
    assert headings.split()[:3] == ["topic", "partition", "offset"] and headings.split()[-1] == "matched"
    assert set(rule) == {"─"}
    assert [row.split()[:3] for row in rows] == [["orders", "0", "2"]]


def test_context_is_shown_once_and_matches_nowhere(run: Run, data: Path) -> None:
    _, shown, _ = run("--context", 1, "--output", "ndjson", "needle", data)
    rows = [json.loads(line) for line in shown.splitlines() if '"hit"' in line]
    assert [(row["offset"], bool(row["matched"])) for row in rows] == [(1, False), (2, True), (3, False)]
    said = run("--context", 1, "--limit", 1, "needle", data)[2]
    assert said.endswith(f" searched\nDo: kdump log --deep --output table --offset 2 {_log(data)}\n"), "not whole, so not intact"


def test_stdin_is_searched(data: Path) -> None:
    with _log(data).open("rb") as log:
        done = subprocess.run([sys.executable, "-m", "kdump", "grep", "Needle", "-"], stdin=log, capture_output=True, check=True)
    assert done.stdout.startswith(b"Dumping -\n")


def test_a_pattern_is_never_taken_for_a_path_nor_a_path_for_a_pattern(run: Run, data: Path) -> None:
    """With a condition all words are paths: one that leads nowhere is refused, for else the answer could be `absent`."""
    code, _, said = run("needle", data, "--key", "k")
    assert (code, "needle does not exist" in said) == (2, True)
    assert run("-e", "Needle", "--key", "k", data)[0] == 0
    nothing = f"kdump: nothing to look for in {data}; give a PATTERN before the path, or a condition such as --key\n"
    assert run(data) == (2, "", nothing)


def test_several_processes_find_the_same(run: Run, tmp_path: Path) -> None:
    _nine_segments(tmp_path)
    (tmp_path / "a-0" / "00000000000000000004.log").write_bytes(b"damaged")
    alone = run("needle 1", tmp_path, "--output", "ndjson", "--jobs", 1)
    together = run("needle 1", tmp_path, "--output", "ndjson", "--jobs", 3)
    assert alone[0] == together[0] == 3
    without_time = [[line for line in shown.splitlines() if "search-verdict" not in line] for _, shown, _ in (alone, together)]
    assert without_time[0] == without_time[1] and len(without_time[0]) == 3


def _nine_segments(folder: Path) -> Path:
    records = [record(key=b"%d" % base, value=b"needle %d" % (base % 3)) for base in range(9)]
    segments = {base: [batch(base_offset=base, records=[one])] for base, one in enumerate(records)}
    return write_partition(folder, topic="a", segments=segments)


@pytest.mark.parametrize("processes", range(4))
def test_files_are_searched_where_no_process_can_be_started(processes: int, tmp_path: Path, monkeypatch: Patch) -> None:
    partition = _nine_segments(tmp_path)
    fork, started = os.fork, count()

    def few() -> int:
        if next(started) >= processes:
            raise BlockingIOError(errno.EAGAIN, "no process")
        return fork()

    monkeypatch.setattr(os, "fork", few)
    search = Search([str(partition)], Query(b"needle 1"), jobs=3)
    assert [hit.offset for hit in search] == [1, 4, 7]
    assert (search.verdict.verdict, search.verdict.exit_code, search.verdict.files) == ("found", 0, 9)


def test_a_process_that_dies_costs_the_rest_of_its_file(tmp_path: Path, monkeypatch: Patch) -> None:
    partition, whole, test = _nine_segments(tmp_path), FileSearch.found, os.getpid()

    def found_and_killed(search: FileSearch) -> Iterator[Found]:
        yield from whole(search)
        if os.getpid() != test:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(FileSearch, "found", found_and_killed)
    search = Search([str(partition)], Query(b"needle 1"), jobs=3)
    assert [hit.offset for hit in search] == [1, 4, 7]
    assert (search.verdict.verdict, search.verdict.hits, search.verdict.exit_code) == ("found", 3, 3)
    assert [gap.code for gap in search.not_read] == ["worker-died"] * 9
    assert [gap.end for gap in search.not_read] == [file.size for file in search.files]


def test_a_certificate_that_cannot_be_read_is_no_wrong_usage(run: Run, data: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    path = str(tmp_path / "certificate.json")
    run("--prove-absent", "--certificate", path, "nothing", data)
    let_fail(monkeypatch, "open", path)
    with pytest.raises(Unreadable, match="Input/output error"):  # which ends the command with exit code 3
        main(["grep", "--verify", path])
    assert main(["grep", "--verify", str(tmp_path)]) == main(["grep", "--verify", str(tmp_path / "none")]) == 2


def test_matches_go_into_a_parquet_file(run: Run, data: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("needle", data, "--output", "parquet", "-o", tmp_path / "hits.parquet")[0] == 0
    assert parquet.read_table(tmp_path / "hits.parquet").column("offset").to_pylist() == [2]


@pytest.mark.parametrize("output", ["kafka", "ndjson"])
def test_the_verdict_stands_if_nobody_reads_the_output(data: Path, output: str, tmp_path: Path) -> None:
    large = write_partition(tmp_path, topic="large", segments={0: [batch(records=[record(value=b"needle" + bytes(1 << 20))])]})
    place = tmp_path / "certificate.json"
    reader, writer = os.pipe()
    os.close(reader)
    for searched in ([str(data)], [str(large), "--prove-absent", "--certificate", str(place)]):
        command = [sys.executable, "-m", "kdump", "grep", "needle", *searched, "--output", output]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
        assert done.returncode == 0 and b"error" not in done.stderr
    os.close(writer)
    assert json.loads(place.read_text())["verdict"] == "found"


@each(
    ("offset", "next_offset", "where"),
    [(3, 7, " (offsets 3 to 6)"), (3, 4, " (offset 3)"), (3, None, " (from offset 3 on)"), (3, 3, ""), (None, None, "")],
)
def test_what_was_not_read_has_its_offsets(offset: int | None, next_offset: int | None, where: str) -> None:
    gap = NotRead("a.log", 61, 130, offset, next_offset, "crc-mismatch", "the CRC differs")
    assert gap_line(gap) == f"a.log: bytes 61 to 129{where}: the CRC differs (crc-mismatch)"


@each("count, rest", [(20, []), (21, ["1 more range"]), (30, ["10 more ranges"])])
def test_twenty_ranges_that_were_not_read_are_said_and_the_rest_counted(count: int, rest: list[str]) -> None:
    gap = NotRead("x.log", 1, 5, None, None, "code", "why")
    fields: dict[str, Any] = {**dict.fromkeys(SearchVerdict.column_names, 0), "verdict": "not proven", "unknown_fields": []}
    lines = list(verdict_lines(SearchVerdict(**fields), [gap] * count))
    said = [f"... and {more} not read intact; --output ndjson lists all" for more in rest]
    assert lines.count(gap_line(gap)) == 20
    assert [line for line in lines if line[:3] == "..."] == said


def test_ranges_hold_their_ends_and_an_empty_value_of_a_header_is_a_value() -> None:
    times = Range(from_time=5, to_time=7)
    assert [time for time in range(-1, 10) if times.holds(0, time)] == [5, 6, 7]
    offsets = Range(from_offset=5, to_offset=7)
    assert [offset for offset in range(10) if offsets.holds(offset, -1)] == [5, 6, 7]
    headers = ((b"h", b"v"), (b"e", b""))
    for wanted, found in (((b"h", None), True), ((b"h", b""), False), ((b"e", b""), True), ((b"x", None), False)):
        assert (Query(headers=[wanted]).matched(None, None, headers, 0) is not None) == found
    assert Query(b"").matched(None, None, headers, 0) == ["header:h", "header:e"]
    assert Query(is_tombstone=True).matched(None, None, (), 0) is None, "a record without a key replaces none"


@each(("field", "status"), [({}, "intact"), ({"value_length": 1000}, "damaged")])
def test_a_match_whose_value_ends_past_it_is_damaged(field: dict[str, Any], status: str, run: Run, tmp_path: Path) -> None:
    path = write_partition(tmp_path, segments={0: [message_set(messages=[message(key=b"k", value=b"v", **field)])]})
    hit, *_ = (json.loads(line) for line in run("--key", "k", path, "--output", "ndjson")[1].splitlines())
    assert (hit["key"], hit["status"]) == ("k", status)
