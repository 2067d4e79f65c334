"""The runs of the tool that are recorded for a case."""

import shlex
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from golden_outputs.stored import RunOfCase, release_number

CASES = Path(__file__).with_name("cases")

LOG_SUFFIXES = (".log", ".checkpoint")
LOG_MODES = ("", "--deep-iteration", "--print-data-log")
INDEX_MODES = ("", "--verify-index-only", "--index-sanity-check")
FEW_LOG_MODES = ("", "--print-data-log")
FEW_INDEX_MODES = ("", "--index-sanity-check")

# More files of one type than this are passed to the tool in one list instead of one by one.
FEW_FILES = 1
# The contents of larger logs are printed only if EXTRA_RUNS requests it.
LARGE_LOG_BYTES = 48 * 1024

# Damage to a log shows in any mode.
BRIEF_CASES = ("mutant-*", "partition-*", "edited-*")
# Complete directories of real brokers: also all files in one list, which is their only run with --deep-iteration.
DIRECTORY_CASES = ("*-4.3.0", "*-3.9.1", "magic?-transactions-*", "*-compacted-*", "magic?-segments-*")
# Cases that exist only for their few EXTRA_RUNS.
ONLY_EXTRA_RUNS = (
    "decoder-classes",
    "file-lists-with-empty-and-unknown-items",
    "index-max-message-size",
    "odd-file-names",
    "options",
    "several-*",
    "cluster-metadata-early-records",
    "consumer-offsets-by-hand-magic0",
    "consumer-offsets-group-versions",
    "*-random-records",
    "magic?-wrappers-damaged",
    "magic2-payloads-damaged",
    "magic2-records-damaged",
    "magic2-zstd-blocks-larger-than-window",
    "magic2-zstd-frames-cut",
    "magic2-zstd-several-frames",
    "remote-log-metadata-snapshot-short-tag",
    "share-group-state-early-layout",
    "snapshot-missing",
    "timeindex-beside-unsorted-index",
    "transaction-state-short-tags",
    "transaction-state-unknown-status",
    "txnindex-missing",
)

WITHOUT_RECORD_METADATA = (
    "checkpoint-header-and-footer",
    "cluster-metadata-quorum-of-three-4.3.0",
    "edited-crc-field-changed-mixed-magic",
    "edited-joined-logs-of-three-magics",
    "example-*",
    "magic?-*-by-hand",
    "magic?-*-odd-keys-values-headers-4.3.0",
    "magic?-gzip-0.*",
    "magic?-not-utf8",
    "magic2-*-compacted-4.3.0",
    "magic2-*-java-4.3.0",
    "magic2-codecs-*",
    "magic2-control-*",
    "magic2-grid-*",
    "magic2-record-*",
    "magic2-transactions-interleaved-*",
    "mixed-magic-*",
    "mutant-byte-changed-crc-good-*",
)

# Cases with a log of an internal topic, and the decoder of Kafka's tool for it.
DECODERS = {
    "*cluster-metadata-*": "--cluster-metadata-decoder",
    "*checkpoint-*": "--cluster-metadata-decoder",
    "*consumer-offsets-*": "--offsets-decoder",
    "*remote-log-metadata-*": "--remote-log-metadata-decoder",
    "*share-group-state-*": "--share-group-state-decoder",
    "*transaction-state-*": "--transaction-log-decoder",
}

# Options and the releases that introduced them. Earlier releases only print their help screen, which OPTIONS_CASES record.
OPTIONS_SINCE = {
    "--cluster-metadata-decoder": "2.8.0",
    "--index-sanity-check": "0.10.0.0",
    "--key-decoder-class": "0.8.2.0",
    "--max-bytes": "3.3.0",
    "--offsets-decoder": "0.9.0.1",
    "--remote-log-metadata-decoder": "3.9.0",
    "--share-group-state-decoder": "4.0.0",
    "--skip-record-metadata": "2.8.0",
    "--transaction-log-decoder": "0.11.0.0",
    "--value-decoder-class": "0.8.2.0",
}
OPTIONS_CASES = ("options", "decoder-classes")

# Arguments by case, as typed in a shell; `{a..b}` is passed as it is, not expanded.
EXTRA_RUNS: dict[str, tuple[str, ...]] = {
    "consumer-offsets-by-hand-magic0": tuple(
        f"--offsets-decoder --print-data-log --deep-iteration --files {1000 * number:020}.log" for number in range(8)
    ),
    "consumer-offsets-0.9.0.1": (
        "--offsets-decoder --print-data-log --deep-iteration --files 00000000000000000000.log",
        "--offsets-decoder --print-data-log --files 00000000000000000000.log",
    ),
    "options": (
        "",
        "-",
        "--",
        "-- --files 00000000000000000000.log",
        "---files 00000000000000000000.log",
        "--deep --files 00000000000000000000.log",
        "--deep-iteration",
        "--deep-iteration --deep-iteration --files 00000000000000000000.log",
        "--deep-iteration --files 00000000000000000000.log --print-data-log",
        "--cluster-metadata-decoder --files 00000000000000000000.log",
        "--deep-iteration= --files 00000000000000000000.log",
        "--deep-iteration=no --files 00000000000000000000.log",
        "--file 00000000000000000000.log",
        "--files",
        "--files ''",
        "--files -x",
        "--files --deep-iteration",
        "--files -- 00000000000000000000.log",
        "--files 00000000000000000000.log ''",
        "--files 00000000000000000000.log -",
        "--files 00000000000000000000.log -- --deep-iteration",
        "--files 00000000000000000000.log --files 00000000000000000000.log",
        "--files 00000000000000000000.log --files=00000000000000000100.log --nope",
        "--files 00000000000000000000.log --help",
        "--files 00000000000000000000.log --max-bytes",
        "--files 00000000000000000000.log --max-bytes ''",
        "--files 00000000000000000000.log --max-bytes ' 5'",
        "--files 00000000000000000000.log --max-bytes +100",
        "--files 00000000000000000000.log --max-bytes -1",
        "--files 00000000000000000000.log --max-bytes 0x10",
        "--files 00000000000000000000.log --max-bytes 1 --max-bytes 2",
        "--files 00000000000000000000.log --max-bytes 1.5",
        "--files 00000000000000000000.log --max-bytes 2147483648",
        "--files 00000000000000000000.log --max-bytes abc",
        "--files 00000000000000000000.log --max-bytes \u0661\u0660\u0660",
        "--files 00000000000000000000.log --max-bytes=",
        "--files 00000000000000000000.log --max-bytes=100",
        "--files 00000000000000000000.log --max-message-size",
        "--files 00000000000000000000.log --max-message-size abc",
        "--files 00000000000000000000.log --max-message-size=",
        "--files 00000000000000000000.log --nope",
        "--files 00000000000000000000.log --nope=5",
        "--files 00000000000000000000.log --print-data-log=false --skip-record-metadata=false",
        "--files 00000000000000000000.log -deep-iteration",
        "--files 00000000000000000000.log -print-data-log",
        "--files 00000000000000000100.index --max-bytes abc",
        "--files 00000000000000000100.index --max-message-size -1 --verify-index-only",
        "--files 00000000000000000100.index --max-message-size 1 --max-message-size 2",
        "--files 00000000000000000100.index,00000000000000000100.timeindex --verify-index-only --index-sanity-check",
        "--files 00000000000000000100.log,00000000000000000100.index,00000000000000000100.timeindex",
        "--files 00000000000000000100.timeindex --max-message-size abc",
        "--files=",
        "--files=00000000000000000000.log",
        "--files==00000000000000000000.log",
        "--help",
        "--help --nope",
        "--help --version",
        "--help=no",
        "--index-sanity-check --files 00000000000000000000.log",
        "--nope --files 00000000000000000000.log",
        "--offsets-decoder --files 00000000000000000000.log",
        "--offsets-decoder --transaction-log-decoder --print-data-log --files 00000000000000000000.log",
        "--print --files 00000000000000000000.log",
        "--remote-log-metadata-decoder --files 00000000000000000000.log",
        "--share-group-state-decoder --files 00000000000000000000.log",
        "--skip-record-metadata --files 00000000000000000000.log",
        "--transaction-log-decoder --files 00000000000000000000.log",
        "--verify-index-only",
        "--verify-index-only --files 00000000000000000000.log",
        "--version",
        "--version --files 00000000000000000000.log",
        "-?",
        "-d --files 00000000000000000000.log",
        "-files 00000000000000000000.log",
        "-files=00000000000000000000.log",
        "-h",
        "-help",
        "-x --files 00000000000000000000.log",
        "00000000000000000000.log",
        "word --files 00000000000000000000.log other",
    ),
    "odd-file-names": (
        "--files +7.log",
        "--files -7.log",
        "--files ./00000000000000000000.log",
        "--files .//00000000000000000000.log",
        "--files .log",
        "--files 00000000000000000000.log.deleted",
        "--files 00000000000000000000.log/",
        "--files 00000000000000000000.log/.",
        "--files 5.extra.log",
        "--files 5.index",
        "--files 7.log",
        "--files 9.txt",
        "--files 99999999999999999999.log",
        "--files a.b/00000000000000000000.log",
        "--files a.b/nodot",
        "--files abc.log",
        "--files d",
        "--files d/",
        "--files d/../00000000000000000000.log",
        "--files d//00000000000000000000.log",
        "--files dir.log",
        "--files dir.log/",
        "--files log",
        "--files nodot",
        "--files nope.txt",
        "--files partition.metadata",
        "--files q/7.log",
        "--files x.LOG",
        "--files \u0663.log",
        "--files -7.log,+7.log,5.extra.log,\u0663.log --deep-iteration",
        "--files gone.snapshot",
        "--files gone.timeindex",
        "--files gone.txnindex",
        "--files 3.txnindex",
        "--files gone.checkpoint",
        "--files bootstrap.checkpoint",
        "--files 00000000000000000000-0000000000.checkpoint",
    ),
    "decoder-classes": (
        "--deep-iteration --key-decoder-class --files 00000000000000000000.log",
        "--deep-iteration --key-decoder-class kafka.serializer.StringDecoder --files 00000000000000000000.log",
        "--deep-iteration --print-data-log --key-decoder-class kafka.serializer.IntegerDecoder"
        " --value-decoder-class kafka.serializer.LongDecoder --files 00000000000000000000.log",
        "--deep-iteration --print-data-log --key-decoder-class org.apache.kafka.tools.api.IntegerDecoder"
        " --value-decoder-class org.apache.kafka.tools.api.LongDecoder --files 00000000000000000000.log",
        "--deep-iteration --value-decoder-class kafka.serializer.StringDecoder"
        " --key-decoder-class kafka.serializer.StringDecoder --files 00000000000000000000.log",
        "--files 00000000000000000000.log",
        "--files 00000000000000000000.log --key-decoder-class",
        "--files 00000000000000000000.log --key-decoder-class --deep-iteration",
        "--files 00000000000000000000.log --key-decoder-class a --key-decoder-class b",
        "--files 00000000000000000000.log --key-decoder-class=",
        "--files 00000000000000000000.log --key-decoder-class=org.apache.kafka.tools.api.StringDecoder",
        "--files 00000000000000000000.log --print-data-log --skip-record-metadata"
        " --value-decoder-class org.apache.kafka.tools.api.IntegerDecoder",
        "--print-data-log --files 00000000000000000000.log",
        "--print-data-log --key-decoder-class java.lang.String --files 00000000000000000000.log",
        "--print-data-log --key-decoder-class no.such.Key --value-decoder-class no.such.Value --files 00000000000000000000.log",
        "--print-data-log --value-decoder-class kafka.serializer.Decoder --files 00000000000000000000.log",
        "--print-data-log --value-decoder-class no.such.Class --files 00000000000000000000.log",
        "--print-data-log --value-decoder-class org.apache.kafka.tools.api.Decoder --files 00000000000000000000.log",
        "--print-data-log --value-decoder-class org.apache.kafka.tools.api.IntegerDecoder --files 00000000000000000000.log",
        "--print-data-log --value-decoder-class org.apache.kafka.tools.api.LongDecoder --files 00000000000000000000.log",
        "--value-decoder-class kafka.serializer.StringDecoder --files 00000000000000000000.log",
    ),
    "file-lists-with-empty-and-unknown-items": (
        "--files ''",
        "--files ' '",
        "--files ,",
        "--files ,,,",
        "--files ,00000000000000000000.log",
        "--files 00000000000000000000.log,",
        "--files 00000000000000000000.log,,,",
        "--files '00000000000000000000.log, 00000000000000000000.log'",
        "--files ' 00000000000000000000.log'",
        "--files 00000000000000000000.log,,00000000000000000000.txnindex",
        "--files 00000000000000000000.log,x.txt,00000000000000000000.snapshot,00000000000000000000.txnindex,"
        "00000000000000000000.log",
        "--files x.txt,x.txt",
    ),
    "index-max-message-size": tuple(
        f"--max-message-size {size} --files 00000000000000000100.index"
        for size in ("-1", "0", "10", "17", "18", "147", "148", "149", "2147483647", "2147483648", "abc")
    ),
    "several-files-first-throws": (
        "--deep-iteration --files 00000000000000000000.log,00000000000000000005.log",
        "--deep-iteration --files 00000000000000000005.log,00000000000000000000.log",
        "--files 00000000000000000005.log,gone.log,00000000000000000000.log",
    ),
    "several-index-mismatches": (
        "--files 00000000000000000100.index,00000000000000000100.log,00000000000000000200.index,"
        "00000000000000000200.log,00000000000000000300.index,00000000000000000300.log",
        "--files 00000000000000000100.index,00000000000000000200.index,00000000000000000300.index",
        "--files 00000000000000000200.index,00000000000000000200.index",
        "--files ./00000000000000000100.index,00000000000000000100.index",
        "--verify-index-only --files 00000000000000000300.index,00000000000000000200.index,00000000000000000100.index",
    ),
    "several-logs-with-gaps-6": (
        "--deep-iteration --files 00000000000000000000.log,00000000000000000000.log",
        "--deep-iteration --files 00000000000000000000.log,00000000000000000007.log",
        "--deep-iteration --files 00000000000000000000.log,00000000000000000007.log,00000000000000000100.log,"
        "00000000000000001000.log,00000000000000031337.log,00000000000000999999.log",
        "--deep-iteration --files 00000000000000000007.log,00000000000000000000.log",
        "--deep-iteration --files 00000000000000999999.log,00000000000000031337.log,00000000000000001000.log,"
        "00000000000000000100.log,00000000000000000007.log,00000000000000000000.log",
        "--files 00000000000000000000.log,00000000000000000007.log,00000000000000000100.log,"
        "00000000000000001000.log,00000000000000031337.log,00000000000000999999.log",
    ),
    **{
        f"several-logs-with-gaps-{count}": (
            "--deep-iteration --files " + ",".join(f"p{n}/{3 + 7 * n:020}.log" for n in range(count)),
            "--deep-iteration --files " + ",".join(f"p{n}/{3 + 7 * n:020}.log" for n in reversed(range(count))),
        )
        for count in (11, 12, 13, 14)
    },
    "magic1-size-over-max-message-size": tuple(
        f"--max-message-size {size} --deep-iteration --files 00000000000000000000.log" for size in (100, 200, 400)
    ),
    "magic2-none-by-hand": (
        *(
            f"--max-bytes {size} --deep-iteration --files 00000000000000000000.log"
            for size in (0, 1, 17, 18, 61, 100, 119, 120, 188, 189, 190, 2147483646, 2147483647)
        ),
        "--skip-record-metadata --files 00000000000000000000.log",
    ),
    "magic2-cut": ("--max-bytes 500 --files 00000000000000000000.log",),
    "magic1-gzip-by-hand": ("--max-bytes 200 --print-data-log --files 00000000000000000000.log",),
    "magic2-17-zeros-behind": ("--max-bytes 2147483646 --files 00000000000000000000.log",),
    "magic2-18-zeros-behind": ("--max-bytes 189 --files 00000000000000000000.log",),
    "magic2-gzip-java-4.3.0": ("--max-bytes 2348 --deep-iteration --files 00000000000000000000.log",),
    "magic2-transactions-interleaved-4.3.0": (
        "--max-bytes 3212 --print-data-log --files 00000000000000000000.log",
        "--files 00000000000000000000.log,00000000000000000000.index --max-bytes 500 --max-message-size 500",
    ),
    "mixed-magic-1.0.1": ("--max-bytes 700 --deep-iteration --files 00000000000000000000.log",),
    "cluster-metadata-many-records-4.3.0": ("--max-bytes 1000 --print-data-log --files 00000000000000000000.log",),
    "bootstrap-checkpoint-4.3.0": ("--max-bytes 252 --deep-iteration --files bootstrap.checkpoint",),
    "magic2-zstd-big-batches-4.3.0": ("--print-data-log --files 00000000000000000000.log",),
    "magic2-none-librdkafka": ("--print-data-log --files 00000000000000000000.log",),
    "magic2-none-large-values-4.3.0": (
        "--print-data-log --files 00000000000000000000.log",
        "--files 00000000000000000000.index --max-message-size 1000",
    ),
    "magic2-none-java-4.3.0": (
        "--files 00000000000000000000.index --max-message-size 100",
        "--files 00000000000000000000.index --max-message-size 2000 --verify-index-only",
    ),
    "index-is-directory": (
        "--files 00000000000000000008.index",
        "--files ./00000000000000000008.index/",
        "--index-sanity-check --files 00000000000000000008.index",
        "--files ./00000000000000000008.timeindex",
        "--files 00000000000000000009.timeindex",
        "--files ./00000000000000000009.timeindex",
    ),
    "index-missing": (
        "--files 00000000000000000100.index",
        "--verify-index-only --files 00000000000000000100.index",
        "--index-sanity-check --files 00000000000000000100.index",
    ),
    "timeindex-beside-unsorted-index": ("--files 00000000000000000000.timeindex",),
    "timeindex-missing": (
        "--files 00000000000000000100.timeindex",
        "--verify-index-only --files 00000000000000000100.timeindex",
        "--index-sanity-check --files 00000000000000000100.timeindex",
    ),
    **{
        case: tuple(f"--deep-iteration --files {1000 * number:020}.log" for number in range(count))
        for case, count in (
            ("magic0-wrappers-damaged", 27),
            ("magic1-wrappers-damaged", 16),
            ("magic2-payloads-damaged", 20),
            ("magic2-records-damaged", 12),
            ("magic2-zstd-blocks-larger-than-window", 5),
            ("magic2-zstd-frames-cut", 2),
        )
    },
    "magic2-zstd-several-frames": tuple(f"--print-data-log --deep-iteration --files {n:020}.log" for n in range(13)),
    "snapshot-missing": ("--files 00000000000000000000.snapshot",),
    "txnindex-missing": ("--files 00000000000000000000.txnindex",),
    "txnindex-sound": ("--verify-index-only --files 00000000000000000000.txnindex",),
    "index-partial-entry": (
        "--files 00000000000000000100.index,00000000000000000100.index",
        "--index-sanity-check --verify-index-only --files 00000000000000000100.index",
    ),
    "timeindex-partial-entry": (
        "--files 00000000000000000100.timeindex,00000000000000000100.timeindex",
        "--index-sanity-check --verify-index-only --files 00000000000000000100.timeindex",
    ),
    "partition-name-negative": ("--deep-iteration --files -0000000000000000005.log",),
    "partition-subdirectory": (
        "--files 00000000000000099999.log",
        "--files 00000000000000099999.index",
        "--files 00000000000000099999.timeindex",
    ),
    "partition-name-width": ("--files 00000000000000000055.index", "--files 55.index"),
}


def cases() -> list[str]:
    """The names of all cases."""
    return sorted(folder.name for folder in CASES.iterdir())


def runs_of(case: str) -> list[tuple[str, ...]]:
    """The distinct argument lists with which the tool is run on a case."""
    runs = [] if _is_one_of(case, ONLY_EXTRA_RUNS) else _runs_by_kind(case)
    runs += _decoder_runs(case)
    runs += [tuple(shlex.split(line)) for line in EXTRA_RUNS.get(case, ())]
    return list(dict.fromkeys(runs))


def wanted_runs(release: str, only: str = "*") -> list[RunOfCase]:
    """The cases that match a name, each with the arguments recorded for a release."""
    missing = {option for option, since in OPTIONS_SINCE.items() if release_number(release) < release_number(since)}
    return [
        (case, run)
        for case in cases()
        if fnmatch(case, only)
        for run in runs_of(case)
        if case in OPTIONS_CASES or missing.isdisjoint(run)
    ]


def _runs_by_kind(case: str) -> list[tuple[str, ...]]:
    folder = CASES / case
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    logs = [file for file in files if file.endswith(LOG_SUFFIXES)]
    is_about_index = "index" in case
    log_modes: Sequence[str] = FEW_LOG_MODES if is_about_index else LOG_MODES
    index_modes: Sequence[str] = INDEX_MODES if is_about_index else FEW_INDEX_MODES
    if _is_one_of(case, BRIEF_CASES):
        log_modes = ("--print-data-log",) if is_about_index else FEW_LOG_MODES
        index_modes = FEW_INDEX_MODES if is_about_index else ("",)
    elif _is_one_of(case, DIRECTORY_CASES):
        log_modes = FEW_LOG_MODES
    if any((folder / log).stat().st_size > LARGE_LOG_BYTES for log in logs):
        log_modes = ("", "--deep-iteration")
    runs = _runs(logs, log_modes)
    if _is_one_of(case, WITHOUT_RECORD_METADATA):
        runs += _runs(logs, ("--print-data-log --skip-record-metadata",))
    for suffix in (".index", ".timeindex"):
        runs += _runs([file for file in files if file.endswith(suffix)], index_modes)
    for suffix in (".snapshot", ".txnindex"):
        runs += _runs([file for file in files if file.endswith(suffix)], ("",))
    if _is_one_of(case, DIRECTORY_CASES):
        runs.append(("--deep-iteration", "--files", ",".join(files)))
        runs.append(("--verify-index-only", "--files", ",".join(reversed(files))))
    return runs


def _decoder_runs(case: str) -> list[tuple[str, ...]]:
    """One run with the decoder for each log; logs of random records also without record metadata."""
    folder = CASES / case
    logs = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.name.endswith(LOG_SUFFIXES))
    decoders = [decoder for pattern, decoder in DECODERS.items() if fnmatch(case, pattern)]
    runs: list[tuple[str, ...]] = [(decoder, "--deep-iteration", "--files", log) for decoder in decoders for log in logs]
    if case.endswith("-random-records"):
        runs += [(decoder, "--skip-record-metadata", "--files", log) for decoder in decoders for log in logs[:1]]
    return runs


def _runs(files: Sequence[str], modes: Sequence[str]) -> list[tuple[str, ...]]:
    lists = [",".join(files)] if len(files) > FEW_FILES else files
    return [(*mode.split(), "--files", file_list) for file_list in lists for mode in modes]


def _is_one_of(case: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(case, pattern) for pattern in patterns)
