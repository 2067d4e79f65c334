"""Command lines as Kafka's tool takes them apart, and its help screen."""

import pytest

from kdump.dropin.help_screen import help_screen
from kdump.dropin.joptsimple import Arguments
from kdump.errors import Fault
from kdump.releases.profile import profile_of
from tests.loops import each


def _parsed(*words: str, release: str = "4.3.1") -> Arguments:
    return Arguments(profile_of(release), list(words))


def _fault(*words: str) -> tuple[str, object]:
    with pytest.raises(Fault) as caught:
        _parsed(*words)
    return caught.value.code, caught.value.values["option"]


# --- options and their values


@pytest.mark.parametrize(
    "words", [("--files", "a.log"), ("--files=a.log",), ("-files", "a.log"), ("-files=a.log",)], ids=" ".join
)
def test_a_value_stands_after_its_option(words: tuple[str, ...]) -> None:
    assert _parsed(*words).text("files") == "a.log"


@pytest.mark.parametrize("value", ["-x", "--", "--print-data-log", "-", "", "a=b", "a.log,b.log"])
def test_a_required_value_is_the_next_word_whatever_it_is(value: str) -> None:
    arguments = _parsed("--files", value)
    assert arguments.text("files") == value
    assert not arguments.has("print-data-log")


def test_a_value_after_an_equals_sign_may_hold_more_of_them_or_be_empty() -> None:
    assert _parsed("--files=a=b").text("files") == "a=b"
    assert _parsed("--files=").text("files") == ""


def test_a_flag_is_given_or_not_and_ignores_a_value() -> None:
    assert _parsed("--deep-iteration").has("deep-iteration")
    assert _parsed("--deep-iteration=no").has("deep-iteration")
    assert _parsed("-deep-iteration").has("deep-iteration")
    assert _parsed("--deep-iteration", "--deep-iteration").has("deep-iteration")
    assert not _parsed("--files", "a.log").has("deep-iteration")


def test_words_that_belong_to_no_option_are_ignored() -> None:
    arguments = _parsed("one", "--files", "a.log", "two", "-", "--deep-iteration", "three")
    assert (arguments.text("files"), arguments.has("deep-iteration")) == ("a.log", True)


def test_options_end_at_two_dashes() -> None:
    arguments = _parsed("--files", "a.log", "--", "--deep-iteration", "--nope")
    assert (arguments.text("files"), arguments.has("deep-iteration")) == ("a.log", False)


DECODER = "org.apache.kafka.tools.api.StringDecoder"


@pytest.mark.parametrize(
    ("words", "value", "is_deep"),
    [
        (("--value-decoder-class", "x.Y"), "x.Y", False),
        (("--value-decoder-class=x.Y",), "x.Y", False),
        (("--value-decoder-class",), DECODER, False),
        (("--value-decoder-class", "--deep-iteration"), DECODER, True),
        (("--value-decoder-class", "-deep-iteration"), DECODER, True),
        (("--value-decoder-class", "-"), "-", False),
    ],
)
def test_an_optional_value_is_the_next_word_unless_it_is_an_option(words: tuple[str, ...], value: str, is_deep: bool) -> None:
    arguments = _parsed(*words)
    assert arguments.has("value-decoder-class")
    assert (arguments.text("value-decoder-class"), arguments.has("deep-iteration")) == (value, is_deep)


def test_an_option_that_is_not_given_has_its_default() -> None:
    arguments = _parsed()
    assert (arguments.number("max-message-size"), arguments.number("max-bytes")) == (5242880, 2147483647)
    assert arguments.text("key-decoder-class") == DECODER
    assert _parsed(release="1.0.1").text("key-decoder-class") == "kafka.serializer.StringDecoder"


# --- what is wrong


@each(
    ("word", "option"),
    [
        ("--nope", "nope"),
        ("--file", "file"),
        ("--deep", "deep"),
        ("--nope=5", "nope"),
        ("-h", "h"),
        ("-?", "?"),
        ("-nope", "n"),
        ("--Files", "Files"),
    ],
)
def test_an_unknown_option_is_named(word: str, option: str) -> None:
    assert _fault(word, "a.log") == ("option-unknown", option)


def test_options_of_later_releases_are_unknown_to_older_ones() -> None:
    with pytest.raises(Fault):
        _parsed("--max-bytes", "5", release="1.0.1")


@pytest.mark.parametrize("option", ["files", "max-bytes", "max-message-size"])
def test_a_required_value_may_not_be_missing(option: str) -> None:
    assert _fault(f"--{option}") == ("option-argument-missing", option)


def test_a_repeated_option_is_found_when_its_value_is_needed() -> None:
    arguments = _parsed("--files", "a.log", "--files", "b.log")
    assert arguments.has("files")
    with pytest.raises(Fault) as caught:
        arguments.text("files")
    assert (caught.value.code, caught.value.values) == ("option-repeated", {"option": "files"})


@each("value", ["abc", "", " 5", "5 ", "5.0", "1e3", "2147483648", "-2147483649", "0x10", "1_000", "+", "--5"])
def test_a_malformed_number_is_found_when_it_is_needed(value: str) -> None:
    arguments = _parsed(f"--max-bytes={value}")
    with pytest.raises(Fault) as caught:
        arguments.number("max-bytes")
    assert caught.value.code == "option-number-malformed"
    assert caught.value.values == {"option": "max-bytes", "argument": value}


@each(
    ("value", "number"),
    [("5", 5), ("+5", 5), ("-5", -5), ("007", 7), ("2147483647", 2147483647), ("-2147483648", -2147483648), ("٣", 3), ("５", 5)],
)
def test_numbers_are_those_of_java(value: str, number: int) -> None:
    assert _parsed("--max-bytes", value).number("max-bytes") == number


def test_a_number_of_very_many_digits_is_not_a_number() -> None:
    with pytest.raises(Fault):
        _parsed("--max-bytes", "9" * 5000).number("max-bytes")


def test_digits_beyond_the_basic_plane_are_none_in_java() -> None:
    with pytest.raises(Fault):
        _parsed("--max-bytes", "𝟏").number("max-bytes")


def test_a_number_that_is_none_is_found_before_there_may_be_one_only() -> None:
    arguments = _parsed("--max-bytes", "--", "--max-bytes", "5")
    with pytest.raises(Fault) as caught:
        arguments.number("max-bytes")
    assert (caught.value.code, caught.value.values["argument"]) == ("option-number-malformed", "--")


# --- options by their first letters, before 0.11


@pytest.mark.parametrize(
    "words",
    [("--file", "a.log"), ("--f=a.log",), ("-f", "a.log"), ("-f=a.log",), ("-fa.log",), ("-dfa.log",), ("-d", "-df", "a.log")],
    ids=" ".join,
)
def test_old_releases_know_options_by_their_first_letters(words: tuple[str, ...]) -> None:
    assert _parsed(*words, release="0.8.1").text("files") == "a.log"


@pytest.mark.parametrize(
    ("word", "option"),
    [("-dx=5", "x"), ("-print_data_log", "r"), ("-fa", None), ("-=", "="), ("--=a", ""), ("-nope", "n"), ("--filesx", "filesx")],
)
def test_after_one_dash_each_letter_is_an_option_up_to_one_that_takes_a_value(word: str, option: str | None) -> None:
    if option is None:
        assert _parsed(word, release="0.8.1").text("files") == "a"
        return
    with pytest.raises(Fault) as caught:
        _parsed(word, release="0.8.1")
    assert caught.value.values["option"] == option


# --- the help screen


HELP_4_3 = """\
Option                               Description
------                               -----------
--cluster-metadata-decoder           If set, log data will be parsed as cluster
                                       metadata records.
--deep-iteration                     If set, uses deep instead of shallow
                                       iteration. Automatically set if print-
                                       data-log is enabled.
--files <String: file1, file2, ...>  REQUIRED: The comma separated list of data
                                       and index log files to be dumped.
--help                               Print usage information.
--index-sanity-check                 If set, just checks the index sanity
                                       without printing its content. This is
                                       the same check that is executed on
                                       broker startup to determine if an index
                                       needs rebuilding or not.
--key-decoder-class [String]         If set, used to deserialize the keys. This
                                       class should implement org.apache.kafka.
                                       tools.api.Decoder trait. Custom jar
                                       should be available in kafka/libs
                                       directory. (default: org.apache.kafka.
                                       tools.api.StringDecoder)
--max-bytes <Integer: size>          Limit the amount of total batches read in
                                       bytes avoiding reading the whole .log
                                       file(s). (default: 2147483647)
--max-message-size <Integer: size>   Size of largest message. (default: 5242880)
--offsets-decoder                    If set, log data will be parsed as offset
                                       data from the __consumer_offsets topic.
--print-data-log                     If set, printing the messages content when
                                       dumping data logs. Automatically set if
                                       any decoder option is specified.
--remote-log-metadata-decoder        If set, log data will be parsed as
                                       TopicBasedRemoteLogMetadataManager
                                       (RLMM) metadata records. Instead, the
                                       value-decoder-class option can be used
                                       if a custom RLMM implementation is
                                       configured.
--share-group-state-decoder          If set, log data will be parsed as share
                                       group state data from the
                                       __share_group_state topic.
--skip-record-metadata               Skip metadata when printing records. This
                                       flag also skips control records.
--transaction-log-decoder            If set, log data will be parsed as
                                       transaction metadata from the
                                       __transaction_state topic.
--value-decoder-class [String]       If set, used to deserialize the messages.
                                       This class should implement org.apache.
                                       kafka.tools.api.Decoder trait. Custom
                                       jar should be available in kafka/libs
                                       directory. (default: org.apache.kafka.
                                       tools.api.StringDecoder)
--verify-index-only                  If set, just verify the index log without
                                       printing its content.
--version                            Display Kafka version.
"""


def test_the_help_screen_of_4_3_is_kafkas() -> None:
    assert help_screen(profile_of("4.3.1")) == "".join(line.ljust(80) + "\n" for line in HELP_4_3.splitlines())


def test_before_1_0_nothing_after_an_equals_sign_is_not_a_value() -> None:
    assert _parsed("--files=", "a.log", release="0.11.0.3").text("files") == "a.log"
    assert _parsed("--files=", "a.log", release="1.0.0").text("files") == ""


@pytest.mark.parametrize("release", ["1.0.1", "4.3.0", "4.3.1"])
def test_every_line_of_a_help_screen_is_80_columns_wide_or_less(release: str) -> None:
    widths = {len(line) for line in help_screen(profile_of(release)).splitlines()}
    assert len(widths) == 1
    assert max(widths) <= 80


def test_the_help_screen_of_an_old_release_knows_only_its_options() -> None:
    screen = help_screen(profile_of("1.0.1"))
    assert "--offsets-decoder" in screen
    assert "--max-bytes" not in screen
    assert "--version" not in screen
