"""Text as Kafka's tool makes it: bytes as Java decodes them, lines from templates, and the terminal kept safe."""

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kdump.binary.java_strings import escaped, text_of
from kdump.formats import records
from kdump.formats.log import Log
from kdump.output.kafka.lines import KafkaText, Template
from kdump.releases.profile import profile_of
from tests.builders.records import batch, record, transaction_marker
from tests.loops import each
from tests.support import opened


@each(
    "data, text",
    [
        *((b"", ""), (b"abc", "abc"), ("é😀".encode(), "é😀"), (b"\0\t\r\n\x1b", "\0\t\r\n\x1b"), (b"\xff", "\ufffd")),
        *((b"\xff\xfe", "\ufffd\ufffd"), (b"a\x80b", "a\ufffdb"), (b"\xc3", "\ufffd"), (b"\xc3a", "\ufffda")),
        *((b"\xc0\x80", "\ufffd\ufffd"), (b"\xe2\x82", "\ufffd"), (b"\xe2\x82a", "\ufffda")),
        *((b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"), (b"\xf0\x9f\x98", "\ufffd"), (b"\xf0\x9f\x98a", "\ufffda")),
        *((b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"), (b"\xed\xa0\x80", "\ufffd"), (b"\xed\xbf\xbf", "\ufffd")),
        *((b"\xed\xa0", "\ufffd"), (b"\xed\xa0a", "\ufffda"), (b"\xed\xa0\x80\xed\xb0\x80", "\ufffd\ufffd")),
        *((b"\xed\x9f\xbf", "\ud7ff"), (b"\xed", "\ufffd"), (b"\xe2\xed\xa0\x80", "\ufffd\ufffd"), (b"\xef\xbb\xbfa", "\ufeffa")),
    ],
    ids=repr,
)
def test_malformed_text_becomes_replacement_characters_as_in_java(data: bytes, text: str) -> None:
    assert text_of(data) == text


@given(st.lists(st.sampled_from([0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xFF]) | st.integers(0, 255)))
def test_text_differs_from_pythons_only_in_encoded_surrogates(codes: list[int]) -> None:
    data = bytes(codes)
    pieces = re.split(rb"\xed[\xa0-\xbf][\x80-\xbf]?", data)
    assert text_of(data) == "\ufffd".join(piece.decode("utf-8", "replace") for piece in pieces)
    assert text_of(bytearray(data)) == text_of(data)


def test_what_a_terminal_would_obey_is_made_visible() -> None:
    shown = {"plain text é😀\ufffd": "plain text é😀\ufffd", "\x1b[31mred": r"\x1b[31mred", "a\nb\tc\rd": r"a\nb\tc\rd"}
    shown |= {"\0\x07\x7f": r"\x00\x07\x7f", "\x9b1m": r"\x9b1m", "\u202eabc\u2066": r"\u202eabc\u2066", "\u2028": r"\u2028"}
    assert {text: escaped(text) for text in shown} == shown


@given(st.text())
def test_nothing_that_a_terminal_would_obey_is_left(text: str) -> None:
    assert all(character.isprintable() for character in escaped(text))


def _lines(text: str, columns: dict[str, Sequence[object]], count: int) -> list[str]:
    return Template.parse(text).lines(columns.__getitem__, count)


def test_a_brace_without_a_name_is_text() -> None:
    assert _lines(" crc: {a}}", {"a": [7]}, 1) == [" crc: 7}"]
    assert _lines("{ {a} {0} {", {"a": [7]}, 1) == ["{ 7 {0} {"]


@given(st.lists(st.text(), min_size=1, max_size=5), st.text(alphabet="%sd{} a"))
def test_signs_of_formats_in_texts_are_text(values: list[str], literal: str) -> None:
    literal = literal.replace("{", "").replace("}", "")
    assert _lines(literal + "{a}" + literal, {"a": values}, len(values)) == [literal + value + literal for value in values]


def test_header_keys_are_joined_without_blanks_and_not_escaped() -> None:
    data = batch(records=[record(headers=[("h1", b""), ("h,2", None), ("", b"x"), (b"\xed\xa0\x80", None)])])
    lines: list[str] = []
    with opened(data) as source:
        for chunk in Log(source).chunks():
            for part in records.read(source, chunk):
                KafkaText(profile_of("4.3.1")).record_lines(part, None, False, lines)
    assert lines[0].endswith("headerKeys: [h1,h,2,,\ufffd]\n")


def test_a_delete_horizon_is_an_optional_long() -> None:
    text = KafkaText(profile_of("4.3.1"))
    with opened(batch(records=[record()], delete_horizon_ms=1_700_000_099_999) + transaction_marker()) as source:
        lines = [line for chunk in Log(source).chunks() for line in text.batch_lines(chunk.batches)]
    assert "deleteHorizonMs: OptionalLong[1700000099999] position" in lines[0]
    assert "isTransactional: true isControl: true deleteHorizonMs: OptionalLong.empty position" in lines[1]
