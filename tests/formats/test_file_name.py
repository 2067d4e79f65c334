"""What the names of files say: a suffix, a base offset, a snapshot, and that a file is about to go."""

from kdump.errors import CorruptData
from kdump.formats import file_name
from tests.loops import each

HIGHEST = (1 << 63) - 1


def _number(text: str, bits: int) -> int | None:
    try:
        return file_name.parse_number(text, bits)
    except CorruptData as fault:
        assert (fault.code, fault.values) == ("number-malformed", {"text": text, "bits": bits})
        return None


@each(
    ("text", "number"),
    [
        *(("5", 5), ("+5", 5), ("-5", -5), ("-0", 0), ("007", 7), ("0" * 30 + "7", 7), ("-" + "0" * 30, 0)),
        *((str(HIGHEST), HIGHEST), (str(-HIGHEST - 1), -HIGHEST - 1), (str(HIGHEST + 1), None), (str(-HIGHEST - 2), None)),
        *((text, None) for text in ("", "+", "-", "--5", "+-5", "5-", " 5", "5 ", "5a", "x", "5.0", "²", "𝟑")),
        *(("٣", 3), ("-٣٤", -34), ("3٣", 33), ("٠" * 998 + "٣", 3), ("٩" * 19, None)),
    ],
)
def test_a_number_is_what_java_reads(text: str, number: int | None) -> None:
    assert _number(text, 64) == number
    if number is not None:
        assert file_name.base_offset(f"{text}.log.deleted") == number


def test_a_number_of_32_bits_fits_into_them() -> None:
    fitting = [_number(str(number), 32) is not None for number in (-(1 << 31) - 1, -(1 << 31), (1 << 31) - 1, 1 << 31)]
    assert fitting == [False, True, True, False]


@each(
    ("name", "base_offset"),
    [
        *((f"{5:020}.log", 5), (f"{5:020}", 5), ("5.log", 5), ("-5.index", -5), (f"{HIGHEST:020}.log", HIGHEST)),
        *((name, None) for name in (f"{HIGHEST + 1:020}.log", f"{5:020}-{1:010}.checkpoint", ".log", "x.log", f"{5:020}x.log")),
    ],
)
def test_the_base_offset_stands_before_the_first_dot(name: str, base_offset: int | None) -> None:
    try:
        assert file_name.base_offset(name) == base_offset
    except CorruptData:
        assert base_offset is None


@each(
    ("name", "expected"),
    [
        *((f"{5:020}-{7:010}.checkpoint", (5, 7)), (f"{5:020}x{7:010}", (5, 7)), (f"-{5:019}-{7:010}", (-5, 7))),
        *(("12345678.checkpoint", (0, 20, 19)), (f"{5:020}checkpoint", (21, 31, 30)), (f"{5:020}", (21, 31, 20))),
        *((f"{5:020}.checkpoint", 32), ("123456789.checkpoint", 64), (f"{5:020}-{1 << 31:010}", 32), (f"{1 << 63:020}-1", 64)),
    ],
)
def test_a_snapshot_has_an_offset_of_20_digits_and_an_epoch_of_10(name: str, expected: object) -> None:
    try:
        assert file_name.snapshot_id(name) == expected
    except CorruptData as fault:
        values = fault.values
        where = (values["start"], values["end"], values["length"]) if fault.code == "snapshot-name-short" else values["bits"]
        assert where == expected


def test_the_newest_snapshot_is_the_last_by_its_offset_then_by_its_epoch() -> None:
    ids = [(10, 2), (10, 1), (9, 3), (-1, 0)]
    names = [f"{offset:020}-{epoch:010}.checkpoint" for offset, epoch in ids]
    others = ["bootstrap.checkpoint", ".checkpoint", f"{names[0]}.deleted", f"{11:020}-{1:010}.part"]
    assert file_name.kraft_snapshots([*others, *names]) == [(*ids[row], names[row]) for row in (3, 2, 1, 0)]


@each(
    ("name", "suffix", "is_going"),
    [
        *((f"{5:020}.log", ".log", False), ("LOCK", "", False), ("", "", False), (".checkpoint", "", False)),
        *(
            ("x.checkpoint", ".checkpoint", False),
            (".lock", ".lock", False),
            ("x.nfs", ".nfs", False),
            (".nfs01", ".nfs01", True),
        ),
        *((f"5.log{suffix}", suffix, True) for suffix in (".deleted", ".cleaned", ".swap", ".part", ".tmp")),
        *(("deleted", "", False), ("5.deleted.log", ".log", False)),
    ],
)
def test_a_suffix_says_what_a_file_is_and_whether_it_is_about_to_go(name: str, suffix: str, is_going: bool) -> None:
    assert (file_name.suffix(name), file_name.is_going(name)) == (suffix, is_going)


def test_what_is_left_of_a_cleaning_is_of_a_segment() -> None:
    names = ("5.log.swap", "5.checkpoint.swap", "5.log.cleaned", "5.log")
    assert [file_name.is_leftover(name, file_name.SWAP) for name in names] == [True, False, False, False]
