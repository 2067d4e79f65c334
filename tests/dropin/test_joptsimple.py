"""Command lines as Kafka's tool takes them apart."""

from collections.abc import Callable

import pytest

from kdump.dropin.joptsimple import Arguments
from kdump.errors import Fault
from kdump.releases.profile import profile_of
from tests.loops import each


def _parsed(*words: str, release: str = "4.3.1") -> Arguments:
    return Arguments(profile_of(release), list(words))


def _fault_of(read: Callable[[str], object], option: str) -> tuple[str, dict[str, object]]:
    with pytest.raises(Fault) as caught:
        read(option)
    return caught.value.code, dict(caught.value.values)


def _fault(*words: str, release: str = "4.3.1") -> tuple[str, object]:
    with pytest.raises(Fault) as caught:
        _parsed(*words, release=release)
    return caught.value.code, caught.value.values["option"]


@each(
    "words, value",
    [
        *((["--files", "a.log"], "a.log"), (["--files=a.log"], "a.log"), (["-files", "a.log"], "a.log")),
        *((["-files=a.log"], "a.log"), (["--files=a=b"], "a=b"), (["--files="], "")),
        # the next word, whatever it is
        *((["--files", word], word) for word in ("-x", "--", "--print-data-log", "-", "", "a=b", "a.log,b.log")),
    ],
    ids=str,
)
def test_a_value_stands_after_its_option(words: list[str], value: str) -> None:
    arguments = _parsed(*words)
    assert (arguments.text("files"), arguments.has("print-data-log")) == (value, False)


def test_a_flag_is_given_or_not_and_ignores_a_value() -> None:
    for line in ("--deep-iteration", "--deep-iteration=no", "-deep-iteration", "--deep-iteration --deep-iteration"):
        assert _parsed(*line.split()).has("deep-iteration"), line
    assert not _parsed("--files", "a.log").has("deep-iteration")


def test_words_that_belong_to_no_option_are_ignored_and_options_end_at_two_dashes() -> None:
    for line, is_deep in (
        ("one --files a.log two - --deep-iteration three", True),
        ("--files a.log -- --deep-iteration --nope", False),
    ):
        arguments = _parsed(*line.split())
        assert (arguments.text("files"), arguments.has("deep-iteration")) == ("a.log", is_deep)


DECODER = "org.apache.kafka.tools.api.StringDecoder"


@each(
    "line, value, is_deep",
    [
        *(("--value-decoder-class x.Y", "x.Y", False), ("--value-decoder-class=x.Y", "x.Y", False)),
        *(("--value-decoder-class", DECODER, False), ("--value-decoder-class --deep-iteration", DECODER, True)),
        *(("--value-decoder-class -deep-iteration", DECODER, True), ("--value-decoder-class -", "-", False)),
    ],
)
def test_an_optional_value_is_the_next_word_unless_it_is_an_option(line: str, value: str, is_deep: bool) -> None:
    arguments = _parsed(*line.split())
    assert arguments.has("value-decoder-class")
    assert (arguments.text("value-decoder-class"), arguments.has("deep-iteration")) == (value, is_deep)


def test_an_option_that_is_not_given_has_its_default() -> None:
    arguments = _parsed()
    assert (arguments.number("max-message-size"), arguments.number("max-bytes")) == (5242880, 2147483647)
    assert arguments.text("key-decoder-class") == DECODER
    assert _parsed(release="1.0.1").text("key-decoder-class") == "kafka.serializer.StringDecoder"


def test_an_unknown_option_is_named() -> None:
    unknown = {"--nope": "nope", "--file": "file", "--deep": "deep", "--nope=5": "nope", "-h": "h", "-?": "?", "-nope": "n"}
    unknown["--Files"] = "Files"
    assert {word: _fault(word, "a.log") for word in unknown} == {word: ("option-unknown", one) for word, one in unknown.items()}
    assert _fault("--max-bytes", "5", release="1.0.1") == ("option-unknown", "max-bytes")  # which came later
    for option in ("files", "max-bytes", "max-message-size"):
        assert _fault(f"--{option}") == ("option-argument-missing", option)


def test_a_repeated_option_is_found_when_its_value_is_needed() -> None:
    arguments = _parsed("--files", "a.log", "--files", "b.log")
    assert arguments.has("files")
    assert _fault_of(arguments.text, "files") == ("option-repeated", {"option": "files"})


MALFORMED = ["abc", "", " 5", "5 ", "5.0", "1e3", "2147483648", "-2147483649", "0x10", "1_000", "+", "--5", "9" * 5000, "𝟏"]


@each("value", MALFORMED)
def test_a_malformed_number_is_found_when_it_is_needed(value: str) -> None:
    for arguments in (_parsed(f"--max-bytes={value}"), _parsed("--max-bytes", value)):
        expected = ("option-number-malformed", {"option": "max-bytes", "argument": value})
        assert _fault_of(arguments.number, "max-bytes") == expected


def test_numbers_are_those_of_java() -> None:
    numbers = {"5": 5, "+5": 5, "-5": -5, "007": 7, "2147483647": 2147483647, "-2147483648": -2147483648, "٣": 3, "５": 5}
    assert {value: _parsed("--max-bytes", value).number("max-bytes") for value in numbers} == numbers


def test_a_number_that_is_none_is_found_before_there_may_be_one_only() -> None:
    arguments = _parsed("--max-bytes", "--", "--max-bytes", "5")
    code, values = _fault_of(arguments.number, "max-bytes")
    assert (code, values["argument"]) == ("option-number-malformed", "--")


def test_old_releases_know_options_by_their_first_letters() -> None:
    for line in ("--file a.log", "--f=a.log", "-f a.log", "-f=a.log", "-fa.log", "-dfa.log", "-d -df a.log"):
        assert _parsed(*line.split(), release="0.8.1").text("files") == "a.log", line


def test_after_one_dash_each_letter_is_an_option_up_to_one_that_takes_a_value() -> None:
    assert _parsed("-fa", release="0.8.1").text("files") == "a"
    unknown = {"-dx=5": "x", "-print_data_log": "r", "-=": "=", "--=a": "", "-nope": "n", "--filesx": "filesx"}
    assert {word: _fault(word, release="0.8.1")[1] for word in unknown} == unknown


def test_before_1_0_nothing_after_an_equals_sign_is_not_a_value() -> None:
    for release, value in (("0.11.0.3", "a.log"), ("1.0.0", "")):
        assert _parsed("--files=", "a.log", release=release).text("files") == value
