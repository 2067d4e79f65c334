"""`kdump grep` shows matches with large keys and values without holding them: the output is that of records that are held."""

import pickle
import random
import tracemalloc
from pathlib import Path

import pytest

from kdump.binary.codecs.streamed import StreamedPayload
from kdump.binary.file_bytes import MIN_SIZE, FileBytes
from kdump.binary.java_strings import text_of
from kdump.binary.source import WINDOW_SIZE, Source
from kdump.cli.commands import main
from kdump.errors import Unreadable
from kdump.output.large_values import TextFacts, csv_pieces, java_pieces, json_pieces
from kdump.output.rows.csv import csv_field
from kdump.output.rows.json_text import json_text
from kdump.output.stand_ins import StandIns
from kdump.reading import large_batches
from kdump.searching import log_search
from tests.builders.compression import Codec, compress
from tests.builders.files import write_partition
from tests.builders.records import Record, batch, encode_record, record
from tests.loops import each
from tests.searching.conftest import Run

LARGE = WINDOW_SIZE + 4321
TEXTS = {
    "ascii": b"plain words ",
    "separators": b'a,b "quoted"\r\n\t',
    "one line": b"one\nanother",
    "formula": b"=1+1 ",
    "wide": "aé€\U0001f600".encode(),
    "unprintable": "a\u202e\x1b[0m\U000e0001".encode(),
    "not UTF-8": b"ab\xff\xc3(\xed\xa0\x80\xe2\x82",
    "only followers": b"\x80\xbf\x81",
    "base64 of a formula": b"\xfb\xff\xfe",
    "surrogates": b"\xed\xa0\x80\xed\xb0\x80",
}


def _filled(text: bytes, size: int = LARGE) -> bytes:
    return (text * (size // len(text) + 1))[:size]


def _partition(folder: Path, *batches: bytes) -> Path:
    write_partition(folder, topic="large", segments={0: list(batches)})
    return folder / "large-0"


def _both(run: Run, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> tuple[str, str]:
    """What a search prints whose values stay in the file, and what one prints that holds them; without the time they took."""

    def printed() -> str:
        code, out, err = run(*arguments)
        seconds = out.rfind('"seconds":')
        return f"{code}\n{out if seconds < 0 else out[:seconds]}\n{err}"

    left = printed()
    with monkeypatch.context() as patch:
        patch.setattr(log_search, "is_walkable", lambda *_: False)
        held = printed()
    return left, held


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of values that are left in the file."""
    sizes: list[int] = []

    class Noted(FileBytes):
        __slots__ = ()

        def __init__(self, source: Source | StreamedPayload, start: int, size: int) -> None:
            super().__init__(source, start, size)
            sizes.append(size)

    monkeypatch.setattr(large_batches, "FileBytes", Noted)
    return sizes


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("form", ["kafka", "ndjson", "json", "csv"])
def test_a_large_match_is_shown_as_one_that_is_held(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, in_pieces: list[int], text: bytes, form: str
) -> None:
    value = _filled(text) + b"needle"
    headers = [("h", b"1"), ("none", None)]
    path = _partition(
        tmp_path,
        batch(records=[record(value=b"needle"), record(key=_filled(text), value=value, headers=headers), record(key=b"needle")]),
        batch(base_offset=3, records=[record(key=value, value=None)]),
        batch(base_offset=4, records=[record(key=None, value=value, timestamp_delta=1)], timestamp_type="LogAppendTime"),
    )
    left, held = _both(run, monkeypatch, "needle", path, "--output", form, "--csv-formulas", "escape")
    assert left == held
    assert in_pieces == [LARGE, LARGE + 6, LARGE + 6, LARGE + 6]


@pytest.mark.parametrize(
    "options",
    [
        ["needle", "--count"],
        ["NEEDLE", "-i"],
        ["-l", "needle"],
        ["--tombstones"],
        ["--key", "k"],
        ["needle", "--in", "key"],
        ["needle", "--context", "1"],
        ["needle", "--first", "1"],
        ["-E", "needle$"],
        ["needle", "--partitions", "3"],
        ["needle", "--output", "table"],
        ["needle", "--prove-absent"],
    ],
    ids=" ".join,
)
def test_each_condition_finds_the_same(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    value = _filled(b"hay") + b"Needle" * (options[0] == "NEEDLE") + b"needle"
    monkeypatch.chdir(tmp_path)
    path = _partition(
        tmp_path, batch(records=[record(key=b"k", value=value), record(key=value, value=None), record(key=b"j", value=b"hay")])
    )
    pattern_last = ["--certificate", "c.json"] if "--prove-absent" in options else []
    left, held = _both_without_certificate(run, monkeypatch, *options, path, *pattern_last)
    assert left == held


def _both_without_certificate(run: Run, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> tuple[str, str]:
    def printed() -> str:
        Path("c.json").unlink(missing_ok=True)
        return "\n".join(map(str, run(*arguments)))

    left = printed()
    with monkeypatch.context() as patch:
        patch.setattr(log_search, "is_walkable", lambda *_: False)
        return left, printed()


_SOUND = record(key=b"k", value=_filled(b"hay") + b"needle")
_SMALL = record(value=b"needle")


@pytest.mark.both_kernels
@pytest.mark.parametrize(
    "damaged",
    [
        batch(records=[_SMALL, _SOUND, _SMALL], records_count=4),
        batch(records=[_SMALL, _SOUND, _SMALL], records_count=2),
        batch(records=[_SMALL, _SOUND], trailing=b"x"),
        batch(records=[_SMALL, _SMALL, _SOUND], records_count=2),
        batch(records=[_SMALL, Record(value=_SOUND.value, value_length=LARGE + 7), _SMALL]),
        batch(records=[_SMALL, Record(value=_SOUND.value, length=LARGE + 100), _SMALL]),
        batch(records=[_SMALL, Record(value=_SOUND.value, headers_count=9), _SMALL]),
        batch(records=[_SMALL, Record(value=_SOUND.value, trailing=b"x"), _SMALL]),
        batch(records=[_SMALL, Record(value=_SOUND.value, key=b"k", key_length=-7), _SMALL]),
        batch(records=[_SMALL, Record(value=_SOUND.value, headers=[("h", _filled(b"header"))]), _SMALL]),
        batch(records=[_SMALL, encode_record(_SOUND) + b"\xff" * 9, _SMALL]),
        batch(records=[_SMALL, _SOUND, _SMALL], crc=7),
    ],
    ids=range(12),
)
def test_an_irregular_large_batch_is_read_as_one_that_is_held(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, damaged: bytes
) -> None:
    path = _partition(tmp_path, damaged, batch(base_offset=9, records=[_SMALL]))
    left, held = _both(run, monkeypatch, "needle", path, "--output", "ndjson")
    assert left == held


@pytest.fixture
def small_payloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Payloads and values that are small count as large."""
    monkeypatch.setattr(log_search, "MAX_PAYLOAD_AT_ONCE", 100_000)
    monkeypatch.setattr(large_batches, "_MIN_SIZE_IN_PAYLOAD", MIN_SIZE)


@pytest.mark.both_kernels
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("form", ["kafka", "ndjson"])
@pytest.mark.usefixtures("small_payloads")
def test_a_large_match_in_a_payload_is_shown_as_one_that_is_held(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, in_pieces: list[int], codec: Codec, form: str
) -> None:
    value = _filled(b"hay", 2 * LARGE) + b"needle"
    path = _partition(
        tmp_path,
        batch(codec=codec, records=[_SMALL, _SMALL]),
        batch(base_offset=2, codec=codec, records=[_SMALL, record(key=value, value=value, headers=[("h", b"1")]), _SMALL]),
        batch(base_offset=5, codec=codec, records=[record(key=_filled(b"k"), value=None), _SMALL]),
        batch(base_offset=7, codec=codec, records=[_SMALL]),
    )
    left, held = _both(run, monkeypatch, "needle", path, "--output", form)
    assert left == held
    assert left.count("needle") == 8
    assert in_pieces == [len(value)] * 4 + [LARGE] * 2  # all records are walked before one comes out


@pytest.mark.both_kernels
@pytest.mark.usefixtures("small_payloads")
@pytest.mark.parametrize("number", range(8))
def test_an_irregular_payload_is_read_as_one_that_is_held(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    damaged = [
        batch(codec="lz4", records=[_SMALL, _SOUND, _SMALL], records_count=4),
        batch(codec="lz4", records=[_SMALL, _SOUND, _SMALL], records_count=2),
        batch(codec="gzip", records=[_SMALL, _SOUND], trailing=b"x"),
        batch(codec="snappy", records=[_SMALL, Record(value=_SOUND.value, length=LARGE + 100), _SMALL]),
        batch(codec="zstd", records=[_SMALL, Record(value=_SOUND.value, headers_count=9), _SMALL]),
        batch(codec="lz4", records=[_SMALL, _SOUND], compressor=lambda plain: compress(plain, codec="lz4", magic=2)[:-9]),
        batch(codec="gzip", records=[_SMALL, _SOUND], compressor=lambda plain: compress(plain, codec="gzip", magic=2)[:-2]),
        batch(codec="lz4", records=[_SMALL, _SOUND, _SMALL], crc=7),
    ][number]
    path = _partition(tmp_path, damaged, batch(base_offset=9, records=[_SMALL]))
    left, held = _both(run, monkeypatch, "needle", path, "--output", "ndjson")
    assert left == held


def test_a_payload_is_read_forwards_and_backwards() -> None:
    content = random.Random(3).randbytes(7 << 20)
    payload = StreamedPayload(3, compress(content, codec="lz4", magic=2), 2)
    assert payload.size == len(content)
    for position in (0, 5 << 20, (5 << 20) - 100, 3 << 20, 17, (7 << 20) - 50):
        assert payload.read_exactly(position, 50) == content[position : position + 50]
    sent = pickle.loads(pickle.dumps(FileBytes(payload, 100, 5 << 20)))
    assert sent.is_attached
    assert sent.whole() == content[100 : (5 << 20) + 100]


@pytest.mark.both_kernels
def test_records_at_the_ends_of_windows_are_found_once(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(5)
    sizes = [chosen.choice([0, 3, 900, 70_000, WINDOW_SIZE // 2, WINDOW_SIZE - 20, WINDOW_SIZE + 1]) for _ in range(20)]
    path = _partition(tmp_path, batch(records=[record(key=b"needle", value=_filled(b"v", size)) for size in sizes]))
    left, held = _both(run, monkeypatch, "needle", path, "--output", "csv")
    assert left == held
    assert left.count("needle") == 20


@pytest.mark.parametrize(("codec", "forms"), [("none", ["kafka", "ndjson", "csv", "json"]), ("lz4", ["csv"])])
def test_memory_does_not_grow_with_a_match(tmp_path: Path, codec: Codec, forms: list[str]) -> None:
    path = _partition(tmp_path, batch(codec=codec, records=[record(key=b"k", value=_filled(b"hay,", 16 << 20) + b"needle")]))
    for form in forms:
        output = tmp_path / f"out.{form}"
        tracemalloc.start()
        assert main(["grep", "needle", str(path), "--output", form, "-o", str(output)]) == 0
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert output.stat().st_size > 16 << 20
        assert peak < 14 << 20


def test_memory_does_not_grow_with_the_records_of_a_batch(tmp_path: Path) -> None:
    path = _partition(tmp_path, batch(records=[encode_record(record(value=bytes(20_000)))] * 1500 + [_SMALL]))
    tracemalloc.start()
    assert main(["grep", "needle", str(path), "-o", str(tmp_path / "out")]) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 << 20


def test_processes_send_where_a_large_match_is(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2):
        write_partition(tmp_path, topic="large", partition=number, segments={0: [batch(records=[_SOUND, _SMALL])]})
    left, held = _both(run, monkeypatch, "needle", tmp_path, "--jobs", "2", "--output", "csv")
    assert left == held
    assert left.count("needle") == 4


def test_a_file_that_another_process_searched_and_that_was_replaced_is_not_shown(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"0123456789")
    with Source(str(tmp_path / "a")) as source, Source(str(tmp_path / "b")) as other:
        sent = pickle.loads(pickle.dumps(FileBytes(source, 2, 5)))
        assert not sent.is_attached
        with pytest.raises(Unreadable, match="replaced"):
            sent.attach(other)
        sent.attach(source)
        assert sent.whole() == b"23456"


@each("seed", range(20))
def test_pieces_are_the_text_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chosen = random.Random(seed)
    parts = [b"a", b",", b'"', b"\n", b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\x1b", b"="]
    if seed % 2:
        parts += [b"\xff", b"\x80", b"\xe2\x82", b"\xed\xa0\x80", b"\xed\xb0", b"\xf0\x9f\x98", b"\xc3"]
    content = b"".join(chosen.choice(parts) for _ in range(chosen.randrange(1, 60)))
    (tmp_path / "f").write_bytes(b"before" + content + b"after")
    plain = FileBytes.pieces
    with Source(str(tmp_path / "f")) as source:
        for size in (1, 2, 3, 7):
            monkeypatch.setattr(FileBytes, "pieces", lambda self, wanted=0, size=size: plain(self, 3 if wanted else size))
            data = FileBytes(source, 6, len(content))
            facts = TextFacts(data)
            assert "".join(java_pieces(data)) == text_of(content)
            for at in range(len(content)):
                assert content[at : at + 5] in data
                assert content[at : at + 5].lower() in data.lower()
            assert b"xyz" not in data
            text = content.decode() if facts.is_utf8 else _base64(content)
            assert '"' + "".join(json_pieces(data, facts)) + '"' == json_text(text)
            for is_terminal in (False, True):
                for escapes in (False, True):
                    field = csv_field(text, is_terminal=is_terminal, escapes_formulas=escapes)
                    pieces = csv_pieces(data, facts, is_terminal=is_terminal, escapes_formulas=escapes)
                    assert "".join(pieces) == field


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


def test_stand_ins_are_replaced_in_any_order() -> None:
    stand_ins = StandIns()
    written: list[str] = []
    first, second = stand_ins.add(lambda: ["1", "2"]), stand_ins.add(lambda: ["3"])
    stand_ins.write(f"a{second}b{first}c", written.append)
    assert "".join(written) == "a3b12c"
