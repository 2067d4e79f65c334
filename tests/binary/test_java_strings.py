"""Text as Java makes it of bytes and counts it, as a terminal may have it, and as people write bytes."""

import pytest

from kdump.binary import given_bytes, java_strings
from kdump.errors import UsageError
from tests.loops import each


@each(
    ("data", "text"),
    [
        *((b"", ""), (b"a\0b", "a\0b"), ("é€😀".encode(), "é€😀"), (b"\xff", "?"), (b"a\xffb\xfe", "a?b?")),
        *((b"\xed\xa0\x80", "?"), (b"\xed\xbf\xbf", "?"), (b"\xed\x9f\xbf", "\ud7ff"), (b"\xee\x80\x80", "\ue000")),
        *((b"\xed\xa0", "?"), (b"\xed\xa0A", "?A"), (b"\xed\xa0\xc0", "??"), (b"\xed", "?"), (b"\xedA\xff", "?A?")),
        *((b"x\xed\xa0\x80y\xed\xb0\x80z", "x?y?z"), (b"\xe2\x82", "?"), (b"\xf0\x9f\x98", "?"), (b"\xf0\x9f\x98A", "?A")),
    ],
)
def test_each_malformed_part_is_one_replacement_character(data: bytes, text: str) -> None:
    assert java_strings.text_of(data) == text.replace("?", "\ufffd")


@each(
    ("text", "shown"),
    [
        *((text, text) for text in ("", "plain", "é€😀", "a\\b", " ")),
        *(("\x1b[31m", "\\x1b[31m"), ("a\nb\t\r", "a\\nb\\t\\r"), ("\x9b\x7f\0", "\\x9b\\x7f\\x00"), ("é\u202eb", "é\\u202eb")),
        *(("\U000e0001", "\\U000e0001"), ("\ue000", "\\ue000"), ("\x85\xa0", "\\x85\\xa0"), ("\ud800", "\\ud800")),
    ],
)
def test_a_terminal_obeys_no_character_of_a_text(text: str, shown: str) -> None:
    assert java_strings.escaped(text) == java_strings.escaped(text) == shown
    assert java_strings.shown_text(text.encode("utf-8", "replace")) == shown.replace("\\ud800", "?")


def test_a_hash_is_that_of_java() -> None:
    codes = {"": 0, "a": 97, "hello": 99162322, "polygenelubricants": 1 << 31, "😀": 1772899}
    assert {text: java_strings.hash_code(text) for text in codes} == codes


@each(
    ("text", "data"),
    [
        *(("00ff12", b"\0\xff\x12"), (" 0x00 FF ", b"\0\xff"), ("0X0a", b"\n"), ("", b""), ("0x", b"")),
        *((text, None) for text in ("0", "0x0", "xx", "0x0x00", "é")),
    ],
)
def test_bytes_are_written_in_hexadecimal_or_as_text(text: str, data: bytes | None) -> None:
    assert given_bytes.given_bytes(text, is_hex=False) == text.encode()
    if data is None:
        with pytest.raises(UsageError, match="is not hexadecimal"):
            given_bytes.given_bytes(text, is_hex=True)
    else:
        assert given_bytes.given_bytes(text, is_hex=True) == data
    assert given_bytes.of_text("a\udcff") == b"a\xff"
