"""Messages of magic 0 and 1 that the kernel in C passes over: the rules would have had nothing to say about them."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdump.binary import codecs
from tests import kernels
from tests.builders.compression import CODEC_IDS, Codec
from tests.builders.records import Message, encode_message, message, message_set, wrapper
from tests.checks.passed_over import codes_however_read

pytestmark = pytest.mark.skipif(kernels.why_no_c() is not None, reason="the kernel in C was not built")

TIME = 1_700_000_000_000
LOGS = 150
MESSAGES = 12
CODECS: list[Codec] = ["gzip", "snappy", "lz4"]
MOST = 1 << 19


def ordinary(chance: random.Random, magic: int) -> list[Message]:
    """Messages as clients write them."""
    return [
        message(
            key=chance.choice((b"key", None, b"")),
            value=chance.choice((b"value", None, b"", chance.randbytes(chance.randrange(300)))),
            magic=magic,
            timestamp=TIME + row,
        )
        for row in range(chance.randrange(1, 5))
    ]


def peculiar(chance: random.Random, magic: int, offset: int) -> bytes:
    """A wrapper or message with one peculiarity, with a CRC that fits."""
    inner: list[Message | bytes] = list(ordinary(chance, magic))
    at = chance.randrange(len(inner))
    settings: dict[str, object] = {}
    match chance.randrange(18):
        case 0:
            inner[at] = message(key=b"k", magic=1 - magic)
        case 1:
            inner[at] = message(key=b"k", magic=magic, crc=chance.randrange(1 << 32))
        case 2:
            inner[at] = message(key=b"k", magic=magic, key_length=chance.choice((-2, -1, 2, 1 << 30, -(1 << 31))))
        case 3:
            inner[at] = message(
                key=b"k", value=b"v", magic=magic, value_length=chance.choice((-2, -1, 0, 2, 1 << 30, -(1 << 31)))
            )
        case 4:
            inner[at] = message(key=b"k", magic=magic, timestamp=chance.choice((-1, -2, 0, TIME + 50, (1 << 63) - 1, -(1 << 63))))
            settings["timestamp"] = chance.choice((None, TIME, -1, -2))
        case 5:
            settings["timestamp"] = TIME + chance.randrange(-3, 6)
            settings["timestamp_type"] = chance.choice(("CreateTime", "LogAppendTime"))
        case 6:
            settings["inner_offsets"] = [chance.choice((0, 1, 5, -1, offset, offset + 5, 1 << 40)) for _ in inner]
        case 7:
            settings["trailing"] = chance.randbytes(chance.choice((1, 11, 12, 17, 40)))
        case 8:
            inner[at] = encode_message(message(key=b"k", magic=magic, codec=chance.choice(CODECS)), offset=at)
        case 9:
            inner[at] = message(key=b"k", magic=magic, attributes=chance.randrange(256))
        case 10:
            inner[at] = message(key=b"k", magic=magic, size=chance.choice((0, 13, 14, 22, 23, 1 << 20, -5)))
        case 11:
            settings |= {"payload": b""} if chance.random() < 0.5 else {"has_null_value": True}
        case 12:
            settings["value_length"] = chance.choice((-2, -1, 0, 5, 1 << 20))
        case 13:
            settings["key"] = b"key of the wrapper"
            settings["key_length"] = chance.choice((None, None, -2, 5, 1 << 20))
        case 14:
            inner = []
        case 15:  # as old librdkafka
            settings |= {
                "offset": 0,
                "inner_offsets": chance.choice(([0] * len(inner), [offset + row for row in range(len(inner))])),
            }
        case 16:
            only = message(
                key=b"k",
                value=b"v",
                magic=magic,
                timestamp=chance.choice((TIME, -1, -2)),
                key_length=chance.choice((None, -1, -2, 0, 3, 1 << 20)),
                value_length=chance.choice((None, None, -1, -2, 0, 3)),
            )
            return encode_message(only, offset=offset)
        case _:
            plain = bytearray(message_set(messages=inner))
            for _ in range(chance.randrange(1, 3)):
                plain[chance.randrange(len(plain))] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            inner = [bytes(plain)]
            settings["timestamp"] = TIME + chance.randrange(4)
    return wrapper(messages=inner, magic=magic, codec=chance.choice(CODECS), base_offset=offset, **settings)  # type: ignore[arg-type]  # of all kinds


def logs() -> Iterator[bytes]:
    """Logs of ordinary and peculiar messages and wrappers, in every third of them some after bytes that are none."""
    for seed in range(LOGS):
        chance = random.Random(seed)
        share = chance.choice((0.1, 0.5, 1))
        data, offset, magic = b"", 0, chance.randrange(2)
        for _ in range(MESSAGES):
            if chance.random() < share:
                data += peculiar(chance, magic, offset)
            elif chance.random() < 0.3:
                data += message_set(messages=ordinary(chance, magic), base_offset=offset)
            else:
                inner = ordinary(chance, magic)
                data += wrapper(messages=inner, magic=magic, codec=chance.choice(CODECS), base_offset=offset)
            offset += 10
            magic = 1 - magic if chance.random() < 0.1 else magic
            if seed % 3 == 0 and chance.random() < 0.3:
                data += chance.randbytes(chance.randrange(1, 40))
        yield data


def test_findings_do_not_depend_on_what_is_passed_over(tmp_path: Path) -> None:
    codes = codes_however_read(logs(), tmp_path)
    assert {
        *("frame-bad-header", "key-length-bad", "key-missing-compacted", "legacy-inner-crc", "legacy-inner-magic"),
        *("legacy-nested-compression", "legacy-wrapper-empty", "legacy-wrapper-offset", "max-timestamp-mismatch"),
        "timestamp-negative",
    } <= codes, sorted(codes)


def _skipped(data: bytes, codec: Codec = "none", *, needs_keys: bool = False, most: int = MOST, start: int = 0) -> int:
    number = CODEC_IDS.get(codec, 0)
    decompress = codecs.BatchDecompressor(1 << 20).of(number) if number else None
    end: int = kernels.native().skip_messages(memoryview(data), start, len(data), needs_keys, most, number, decompress)
    return end


def test_messages_without_keys_stop_it_where_keys_are_needed() -> None:
    first = message_set(messages=[message(key=b"k")])
    assert _skipped(first + message_set(messages=[message(value=b"v")]), needs_keys=True) == len(first)
    outer = wrapper(messages=[message(key=b"k"), message(value=b"v")])
    assert _skipped(outer, "gzip") == len(outer)
    assert _skipped(outer, "gzip", needs_keys=True) == 0


def test_a_wrapper_with_more_messages_than_are_read_is_not_ordinary() -> None:
    outer = wrapper(messages=[message(key=b"k")] * 6)
    assert _skipped(outer, "gzip", most=6) == len(outer)
    assert _skipped(outer, "gzip", most=5) == 0


def test_a_wrapper_of_offset_0_is_ordinary_only_with_messages_of_offset_0() -> None:
    for offset, inner, is_ordinary in (
        *((0, [0, 0], True), (0, [0, 1], False), (0, [5, 6], False), (0, [3, 0], False), (1, [0, 1], True)),
        *((1, [0, 2], False), (9, [0, 1], True), (9, [0, 2], False)),
    ):
        outer = wrapper(messages=[message(key=b"k", magic=1)] * 2, magic=1, offset=offset, inner_offsets=inner)
        assert _skipped(outer, "gzip") == (len(outer) if is_ordinary else 0), (offset, inner)


def test_what_is_not_decompressed_is_left() -> None:
    data = memoryview(wrapper(messages=[message(key=b"k")]))
    skip = kernels.native().skip_messages
    assert skip(data, 0, len(data), False, MOST, 1, lambda _: None) == 0
    with pytest.raises(ZeroDivisionError):
        skip(data, 0, len(data), False, MOST, 1, lambda _: 1 // 0)
    with pytest.raises(TypeError):
        skip(data, 0, len(data), False, MOST, 1, lambda _: 1)


@pytest.mark.parametrize("start", [-1, 1])
def test_starts_out_of_bounds_are_refused(start: int) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        kernels.native().skip_messages(memoryview(b""), start, 0, False, MOST, 1, bytes)
