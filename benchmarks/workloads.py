"""The workloads, and the bars that kdump has to meet."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import contenders, segments
from benchmarks.contenders import (
    CAT,
    COPY,
    DECOMPRESSION,
    DEEP_CHECK,
    KDUMP,
    LIMIT,
    LOOP,
    NEWEST,
    PARQUET,
    PYTHON_KERNEL,
    RECOVER,
    REINDEX,
    SCAN_AGAIN,
    SCAN_BATCHES,
    START,
    TWO_LOOPS,
    Contender,
    Measured,
)
from benchmarks.segments import MIB, Segment
from tests.builders.compression import Codec
from tests.oracle.kafka_tool import release_number

ONE_BATCH = "one-batch"
JOBS_1, JOBS_2 = "kdump --jobs 1", "kdump --jobs 2"
PARALLEL = 2 * MIB  # from this size, kdump may use more than one core for some logs
FULL_INDEX = 1_310_720  # entries of 8 bytes: segment.index.bytes, 10 MiB

Series = Mapping[str, Sequence[Measured]]
"""The runs of a workload by contender."""


def seconds(series: Series, name: str) -> float | None:
    """The median of a contender, None if it did not take part or did not come to its end."""
    runs = series.get(name, ())
    return None if not runs or any(run.is_late for run in runs) else median(run.seconds for run in runs)


class Results(NamedTuple):
    """The runs of a workload, and the seconds for start-up, measured as a dump of one batch."""

    series: Series
    start: float | None

    def seconds(self, name: str) -> float | None:
        """The median of a contender, None if it did not take part or did not come to its end."""
        return seconds(self.series, name)


class Verdict(NamedTuple):
    """The measurement of a bar, and whether it holds."""

    measured: str
    holds: bool


class Bar(NamedTuple):
    """A bar for the contenders with these `names`; None if one of them did not take part."""

    words: str
    names: Sequence[str]
    judge: Callable[[Results], Verdict | None]


class Workload(NamedTuple):
    """A task for all contenders: dump the file with `suffix` of a segment, with these options.

    `mode` is its name in the C program; `has_decompression` includes plain decompression. Releases before `since`
    cannot read the file; `also` are further releases. `others` replace all these contenders. On a segment of
    `compared` bytes, all contenders must print the same. One run dumps the file several `times`.
    """

    name: str
    title: str
    segment: Segment
    options: Sequence[str]
    bars: Sequence[Bar]
    suffix: str = ".log"
    mode: str | None = None
    has_decompression: bool = False
    since: str = "0.11.0.0"
    also: Sequence[str] = ()
    compared: int = MIB
    times: int = 1
    others: Callable[[Sequence[str]], list[Contender]] | None = None

    def contenders(self, home: Path, releases: Sequence[str]) -> list[Contender]:
        """All contenders, in the order of the table; creates the file if it is missing."""
        path, arguments = self.path(home), self.arguments(home)
        if self.others is not None:
            return self.others(arguments)
        found = [contenders.kdump(arguments), contenders.limit(home, self.mode, path) if self.mode else None]
        if self.suffix == ".log" and path.stat().st_size >= PARALLEL:
            found.append(contenders.kdump(arguments, name=JOBS_1, jobs=1))
        found.append(contenders.kdump(arguments, name=PYTHON_KERNEL, kernel="python"))
        if self.has_decompression:
            found.append(contenders.decompression(path))
        if self.name == ONE_BATCH:
            found.append(contenders.python_start())
        wanted = dict.fromkeys([*releases, *self.also]) if releases else ()
        found += [
            contenders.kafka(release, arguments) for release in wanted if release_number(release) >= release_number(self.since)
        ]
        return [*filter(None, found), contenders.cat(path)]

    def path(self, home: Path) -> Path:
        """The file to dump; it is created if missing."""
        return segments.made(self.segment, home).with_suffix(self.suffix)

    def arguments(self, home: Path) -> list[str]:
        """The arguments of the tool."""
        return [*self.options, "--files", ",".join([str(self.path(home))] * self.times)]

    def smaller(self, divisor: int) -> "Workload":
        """The same workload with less data."""
        count = self.segment.batch_count
        size = max(1, self.segment.size // divisor)
        return self._replace(segment=self.segment._replace(size=size, batch_count=count and max(1, count // divisor)))


def faster_than_kafka(factor: float, release: str = NEWEST, name: str = KDUMP) -> Bar:
    """A number of times as fast as Kafka's tool."""

    def judge(results: Results) -> Verdict | None:
        own, theirs = results.seconds(name), results.seconds(f"Kafka {release}")
        return None if own is None or theirs is None else Verdict(f"{theirs / own:.3g}x", theirs / own >= factor)

    words = f"at least {factor:g}x Kafka {release}"
    if name == JOBS_1:
        words += ", one core"
    elif name != KDUMP:
        words = f"{name}: {words}"
    return Bar(words, [name, f"Kafka {release}"], judge)


def within(factor: float, name: str, *, adds_start: bool = False) -> Bar:
    """At most a multiple of another contender's time, plus kdump's start-up."""

    def judge(results: Results) -> Verdict | None:
        own, other, start = results.seconds(KDUMP), results.seconds(name), results.start
        if own is None or other is None or start is None:
            return None
        start = start if adds_start else 0
        return Verdict(f"{(own - start) / other:.2f}x", own - start <= factor * other)

    return Bar(f"at most {factor:g}x {name}{' plus start-up' if adds_start else ''}", [KDUMP, name], judge)


def within_cpu(factor: float, name: str, other: str) -> Bar:
    """At most a multiple of the CPU time of another contender."""

    def judge(results: Results) -> Verdict | None:
        found = [[run.cpu for run in results.series.get(who, ()) if not run.is_late] for who in (name, other)]
        if not all(found):
            return None
        own, theirs = map(median, found)
        return Verdict(f"{own / theirs:.2f}x", own <= factor * theirs)

    return Bar(f"{name}: at most {factor:g}x the CPU time of {other}", [name, other], judge)


def within_seconds(most: float, *, adds_start: bool = False) -> Bar:
    """At most a number of seconds, plus kdump's start-up."""

    def judge(results: Results) -> Verdict | None:
        own, start = results.seconds(KDUMP), results.start
        if own is None or start is None:
            return None
        own -= start if adds_start else 0
        return Verdict(f"{own:.3f} s", own <= most)

    return Bar(f"at most {most:g} s{' more than start-up' if adds_start else ''}", [KDUMP], judge)


def within_memory(mib: int, names: Sequence[str]) -> Bar:
    """A limit on the memory of every run."""

    def judge(results: Results) -> Verdict | None:
        peaks = [run.memory for name in names for run in results.series.get(name, ())]
        return Verdict(f"{max(peaks) / MIB:.1f} MiB", max(peaks) <= mib * MIB) if peaks else None

    return Bar(f"at most {mib} MiB", names, judge)


def gains_by_two_jobs(gain: float, where_loops_gain: float) -> Bar:
    """The gain from two processes, in proportion to the gain of two plain loops on the same machine."""

    def judge(results: Results) -> Verdict | None:
        one, two = results.seconds(JOBS_1), results.seconds(JOBS_2)
        loop, two_loops = results.seconds(LOOP), results.seconds(TWO_LOOPS)
        if one is None or two is None or loop is None or two_loops is None:
            return None
        possible = 2 * loop / two_loops
        wanted = gain * min(1, possible / where_loops_gain)
        return Verdict(f"{one / two:.2f}x, loops {possible:.2f}x", one / two >= wanted)

    return Bar(
        f"--jobs 2 at least {gain}x --jobs 1, where two loops gain {where_loops_gain}x", [JOBS_1, JOBS_2, LOOP, TWO_LOOPS], judge
    )


FALLBACK = faster_than_kafka(0.8, name=PYTHON_KERNEL)

_BIG, _USUAL = 1024 * MIB, 256 * MIB
_DEEP, _DATA = ("--deep-iteration",), ("--deep-iteration", "--print-data-log")
_PACKED = 480  # records per batch: 64 KiB before compression


def _with_jobs(arguments: Sequence[str]) -> list[Contender]:
    runs = [contenders.kdump(arguments, name=JOBS_1, jobs=1), contenders.kdump(arguments, name=JOBS_2, jobs=2)]
    return [*runs, *contenders.loops()]


LISTINGS = {"kafka": 2, "ndjson": 6, "csv": 6, "table": 60}
"""The forms of a listing, and the multiple of the CPU time of a dump that each may take."""


def _listings(arguments: Sequence[str]) -> list[Contender]:
    """A dump, and listings of the same file, in every form of output."""
    found = [contenders.kdump(arguments, name=JOBS_1, jobs=1)]
    for form in LISTINGS:
        options = ["--print-data-log"] if form == "kafka" else ["--deep", "--output", form]
        found.append(contenders.listing(f"kdump log, {form}", arguments[-1], *options))
    return [*found, contenders.cat(Path(arguments[-1]))]


def _listed(name: str, title: str, segment: Segment) -> Workload:
    bars = [
        *(within_cpu(factor, f"kdump log, {form}", JOBS_1) for form, factor in LISTINGS.items()),
        within_memory(32, [f"kdump log, {form}" for form in LISTINGS]),
    ]
    return Workload(name, title, segment, ("--print-data-log",), bars, others=_listings)


def _checks(arguments: Sequence[str]) -> list[Contender]:
    path = Path(arguments[-1])
    return [contenders.deep_check(path), contenders.kdump(arguments, name=JOBS_1, jobs=1)]


def _checks_of_packed(arguments: Sequence[str]) -> list[Contender]:
    return [*_checks(arguments), contenders.decompression(Path(arguments[-1]))]


def _checked(name: str, title: str, segment: Segment) -> Workload:
    is_packed = segment.codec != "none"
    bar = within_cpu(1.3, DEEP_CHECK, DECOMPRESSION) if is_packed else within_cpu(4, DEEP_CHECK, JOBS_1)
    others = _checks_of_packed if is_packed else _checks
    return Workload(name, title, segment, ("--print-data-log",), [bar, within_memory(128, [DEEP_CHECK])], others=others)


def _two_ways(arguments: Sequence[str]) -> list[Contender]:
    return [contenders.kdump(arguments, name=JOBS_1, jobs=1), contenders.kdump(arguments, name=JOBS_2, jobs=2)]


def _into_parquet(arguments: Sequence[str]) -> list[Contender]:
    path = Path(arguments[-1])
    taking_part = [contenders.parquet(path), contenders.kdump(arguments, name=JOBS_1, jobs=1)]
    return [*taking_part, contenders.pyarrow_alone(path), contenders.cat(path)]


def _mendings(arguments: Sequence[str]) -> list[Contender]:
    path = Path(arguments[-1])
    mended = [contenders.mended(name, path) for name in (RECOVER, REINDEX)]
    return [*mended, contenders.copied(path), contenders.kdump(arguments, name=JOBS_1, jobs=1)]


def _mended(name: str, title: str, segment: Segment) -> Workload:
    bars = [within_cpu(2, RECOVER, COPY), within_cpu(2, REINDEX, JOBS_1), within_memory(64, [RECOVER, REINDEX])]
    return Workload(name, title, segment, (), bars, others=_mendings)


def _into_tables(arguments: Sequence[str]) -> list[Contender]:
    path = Path(arguments[-1])
    return [contenders.scan(path), contenders.kdump(arguments, name=JOBS_1, jobs=1), contenders.cat(path)]


def _into_tables_of_batches(arguments: Sequence[str]) -> list[Contender]:
    path = Path(arguments[-1])
    return [contenders.scan_of_batches(path), contenders.scan_again(path), contenders.cat(path)]


def _compressed(codec: Codec, factor: float, since: str = "0.11.0.0") -> Workload:
    return Workload(
        codec,
        f"256 MiB in batches of 64 KiB by {codec}, deep",
        Segment(_USUAL, _PACKED, codec=codec),
        _DEEP,
        [within(1.3, DECOMPRESSION), faster_than_kafka(factor), FALLBACK],
        has_decompression=True,
        since=since,
    )


def _decoded(topic: str, option: str, *cases: str) -> Workload:
    return Workload(
        f"decoded-{option.removeprefix('--').removesuffix('-decoder')}",
        f"64 MiB of {topic}, decoded",
        Segment(64 * MIB, cases=cases),
        (option, "--print-data-log"),
        [faster_than_kafka(15), FALLBACK],
        since="4.1.0",
    )


def _memory(size: int, title: str, options: Sequence[str], suffix: str, *, times: int = 1) -> Workload:
    return Workload(
        f"memory-{suffix}",
        f"{title}: peak memory",
        Segment(size),
        options,
        [within_memory(32, [JOBS_1, JOBS_2])],
        others=_two_ways,
        times=times,
    )


WORKLOADS = (
    Workload(
        ONE_BATCH,
        "one batch",
        Segment(1, 2),
        _DATA,
        [within(3, START), faster_than_kafka(4)],
        mode="data",
    ),
    Workload(
        "shallow-1g",
        "1 GiB, batches of 16 KiB, shallow",
        Segment(_BIG),
        (),
        [within(1.5, LIMIT, adds_start=True), FALLBACK],
        mode="batches",
    ),
    Workload(
        "shallow",
        "256 MiB, batches of 16 KiB, shallow",
        Segment(_USUAL),
        (),
        [faster_than_kafka(8), FALLBACK],
        mode="batches",
    ),
    Workload(
        "one-record",
        "256 MiB, batches of one record, shallow",
        Segment(_USUAL, 1),
        (),
        [faster_than_kafka(30, name=JOBS_1), FALLBACK],
        mode="batches",
    ),
    Workload(
        "deep",
        "256 MiB, records of 100 bytes, deep",
        Segment(_USUAL),
        _DEEP,
        [faster_than_kafka(25), FALLBACK],
        mode="records",
    ),
    Workload(
        "data-ascii",
        "256 MiB, --print-data-log, ASCII",
        Segment(_USUAL),
        _DATA,
        [faster_than_kafka(25), FALLBACK],
        mode="data",
    ),
    Workload(
        "data-mixed",
        "256 MiB, --print-data-log, mixed UTF-8",
        Segment(_USUAL, text="mixed"),
        _DATA,
        [faster_than_kafka(15), FALLBACK],
        mode="data",
    ),
    Workload(
        "headers",
        "256 MiB, one header a record, deep",
        Segment(_USUAL, has_headers=True),
        _DEEP,
        [faster_than_kafka(20), FALLBACK],
        mode="records",
    ),
    _compressed("gzip", 7),
    _compressed("snappy", 12),
    _compressed("zstd", 12, since="2.1.0"),
    _compressed("lz4", 20),
    Workload(
        "magic-1",
        "256 MiB, messages of magic 1, shallow",
        Segment(_USUAL, 1, magic=1),
        (),
        [faster_than_kafka(10), FALLBACK],
    ),
    Workload(
        "index",
        f".index of {FULL_INDEX:,} entries",
        Segment(_USUAL, 1, index_interval=0, batch_count=FULL_INDEX + 1),
        (),
        [within_seconds(0.25, adds_start=True), faster_than_kafka(6), FALLBACK],
        suffix=".index",
    ),
    Workload(
        "timeindex",
        ".timeindex of 256 MiB, batches of one record",
        Segment(_USUAL, 1),
        (),
        [
            within_seconds(0.5),
            faster_than_kafka(4, "4.2.1"),
            faster_than_kafka(0.8, "4.2.1", PYTHON_KERNEL),
        ],
        suffix=".timeindex",
        also=("4.2.1",),
    ),
    Workload(
        "parquet",
        "64 MiB, records of 100 bytes as Parquet",
        Segment(64 * MIB),
        _DATA,
        [within_cpu(10, PARQUET, JOBS_1), within_memory(200, [PARQUET])],
        others=_into_parquet,
    ),
    Workload(
        "scan-records",
        "256 MiB, records of 100 bytes as tables",
        Segment(_USUAL),
        _DATA,
        [],
        others=_into_tables,
    ),
    Workload(
        "scan-batches",
        "1 GiB, batches of 16 KiB as tables, and again",
        Segment(_BIG),
        (),
        [within_cpu(6, SCAN_BATCHES, CAT), within_cpu(0.1, SCAN_AGAIN, SCAN_BATCHES)],
        others=_into_tables_of_batches,
    ),
    _decoded("__consumer_offsets", "--offsets-decoder", "consumer-offsets-all-groups-4.3.0", "consumer-offsets-live-4.3.0"),
    _decoded("__transaction_state", "--transaction-log-decoder", "transaction-state-4.3.0"),
    _decoded("__cluster_metadata", "--cluster-metadata-decoder", "cluster-metadata-many-records-4.3.0"),
    _decoded("__remote_log_metadata", "--remote-log-metadata-decoder", "remote-log-metadata-4.3.0"),
    _memory(64 * MIB, "64 MiB, shallow", (), "64m"),
    _memory(64 * MIB, "64 MiB, --print-data-log", _DATA, "64m-data"),
    _memory(_BIG, "4 segments of 1 GiB, shallow", (), "4g", times=4),
    _memory(_BIG, "4 segments of 1 GiB, --print-data-log", _DATA, "4g-data", times=4),
    Workload(
        "jobs",
        "1 GiB, shallow, on two cores",
        Segment(_BIG),
        (),
        [gains_by_two_jobs(1.7, 1.9)],
        others=_with_jobs,
        compared=96 * MIB,
    ),
    Workload(
        "jobs-deep",
        "256 MiB, deep, on two cores",
        Segment(_USUAL),
        _DEEP,
        [gains_by_two_jobs(1.7, 1.9)],
        others=_with_jobs,
        compared=96 * MIB,
    ),
    _checked("check", "64 MiB, every record checked", Segment(64 * MIB)),
    _checked("check-one-record", "64 MiB, batches of one record, every record checked", Segment(64 * MIB, 1)),
    *(
        _checked(
            f"check-{codec}",
            f"256 MiB in batches of 64 KiB by {codec}, every record checked",
            Segment(_USUAL, _PACKED, codec=codec),
        )
        for codec in ("gzip", "snappy", "lz4", "zstd")
    ),
    _checked(
        "check-wrapped",
        "256 MiB of messages of magic 1 in gzip, every message checked",
        Segment(_USUAL, _PACKED, codec="gzip", magic=1),
    ),
    _mended("mend", "1 GiB, batches of 16 KiB, recovered and reindexed", Segment(_BIG)),
    _mended("mend-one-record", "256 MiB, batches of one record, recovered and reindexed", Segment(_USUAL, 1)),
    _listed("listing", "64 MiB, records listed in every form", Segment(64 * MIB)),
    _listed("listing-one-record", "64 MiB, batches of one record, listed in every form", Segment(64 * MIB, 1)),
)
