"""Calls each function of the C kernel with hostile bytes and numbers, which it may only refuse.

    python -m campaigns.hostile --seconds 60 --seed 7

Buffers are exactly as large as their contents, so that a build with sanitizers detects each access beyond them;
campaigns.sanitized makes that build. Damaged logs come from campaigns.mutants.
"""

import argparse
import functools
import math
import random
import struct
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import IO, Any, TypeAlias

from campaigns import mutants
from kdump.output.kafka.topics import native_messages, topic_records
from kdump.releases.known import RELEASES
from kdump.releases.profile import profile_of
from tests import kernels
from tests.builders.hostile import HOSTILE

Buffer: TypeAlias = "array[int]"
REFUSALS = (ValueError, OverflowError)
NUMBERS = (0, 1, -1, 2, 7, 60, 61, 63, 64, 0x7FFFFFFF, -0x80000000, 1 << 32, 0x7FFFFFFFFFFFFFFF, -0x8000000000000000)
NOTHING, NUMBER, CHOICE, OPTIONAL, HEADERS, CONTENTS, DECODED, BARE = range(8)
JSON_HEADERS, CSV_HEADERS, JSON_BYTES, CSV_BYTES = range(64, 68)
KEY_SIZE, VALUE_SIZE = 22, 23
TOPICS = ("offsets", "transaction-log", "cluster-metadata", "share-group-state", "remote-log-metadata")
DECODERS = tuple(f"{topic}-decoder" for topic in TOPICS)
DAMAGED = [one for one in HOSTILE if one.suffix == ".log" and one.name not in ("headers of batches", "02 00 00")]
STATE_FIELDS = 4
COLUMNS = 25


class Chance(random.Random):
    """Random arguments."""

    def number(self, near: int = 100) -> int:
        return self.randrange(near + 1) if self.random() < 0.8 else self.choice(NUMBERS)

    def mostly(self, *usual: int, near: int = 100) -> int:
        """One of the usual numbers, or another one."""
        return self.choice((*usual, self.number(near)))

    def room(self, *sizes: int) -> Buffer:
        return exact(bytes(self.choice(sizes)))

    def log(self) -> bytes:
        """A damaged file of a golden, or a part of it; or a log of an internal topic with damaged keys and values."""
        number = self.randrange(1 << 30)
        if self.random() < 0.4:
            decoder = f"--{self.choice(DECODERS)}"
            return mutants.decoded_mutant(self.randrange(1 << 16), number, decoder, RELEASES[-1]).data
        data = mutants.mutant(self.randrange(1 << 16), number).data
        if self.random() < 0.3:
            start = self.randrange(len(data) + 1)
            data = data[start : start + self.randrange(len(data) + 1)]
        return data

    def program(self, *, has_texts: bool, contents: int = CONTENTS) -> bytes:
        """The program of a line: mostly a valid one."""
        is_sound = self.random() < 0.9
        operations: list[int | tuple[int, int]] = [self.randrange(OPTIONAL + 1) for _ in range(self.randrange(8))]
        if has_texts:
            ways: tuple[list[int | tuple[int, int]], ...] = (
                [HEADERS, contents],
                [JSON_HEADERS, (JSON_BYTES, KEY_SIZE), (JSON_BYTES, VALUE_SIZE)],
                [CSV_HEADERS, (CSV_BYTES, VALUE_SIZE), (CSV_BYTES, KEY_SIZE)],
            )
            texts = self.choice(ways)
            operations += texts if is_sound else self.choices((HEADERS, CONTENTS, DECODED, *texts), k=3)
        elif not is_sound:
            operations += self.choice(([HEADERS], [CONTENTS], [DECODED], [JSON_BYTES], [NUMBER] * 60, [self.randrange(256)]))
        self.shuffle(operations)
        steps = b"".join(self._step(operation, is_sound=is_sound) for operation in operations)
        return steps if is_sound else self.changed(steps)

    def _step(self, operation: int | tuple[int, int], *, is_sound: bool) -> bytes:
        texts = self.randrange(4, 6) if is_sound or self.random() < 0.9 else self.randrange(12)
        column = self.randrange(1, COLUMNS) if is_sound or self.random() < 0.9 else self.randrange(256)
        if isinstance(operation, tuple):
            operation, column = operation
        step = bytes((operation, column, texts))
        for _ in range(texts + 1):
            size = self.choice((0, 1, 5, 31, 32, 33, self.randrange(60)))
            step += struct.pack("<H", size) + self.randbytes(size)
        return step

    def plan(self) -> bytes:
        """The numbers and the four programs of a dump; in half of them, with the layouts of an internal topic."""
        messages = self.messages() if self.random() < 0.5 else b""
        programs = [
            self.program(
                has_texts=at % 2 == 1,
                contents=self.choice((DECODED, DECODED, BARE)) if messages else self.choice((CONTENTS, CONTENTS, BARE)),
            )
            for at in range(4)
        ]
        flags, most_decoded = self.choice((1, 2, 3, 5, 6, 7, 7)), self.choice((1 << 20, 1 << 20, 200, self.number()))
        numbers = struct.pack("=qqq", flags, self.choice((4, 4, 7, self.number())), most_decoded)
        plan = numbers + b"".join(struct.pack("=I", len(program)) + program for program in programs) + messages
        return self.changed(plan) if self.random() < 0.05 else plan

    def messages(self) -> bytes:
        """The layouts of an internal topic; in one of five, with a number changed."""
        data = _messages(self.choice(DECODERS))
        if self.random() < 0.8:
            return data
        changed = bytearray(data)
        (pool_size,) = struct.unpack_from("=I", data)
        at = 4 + pool_size + 8 * self.randrange((len(data) - pool_size) // 8)
        old = struct.unpack_from("=q", data, at)[0]
        struct.pack_into("=q", changed, at, self.choice((old + 1, old - 1, self.randrange(20), self.number())))
        return bytes(changed)

    def changed(self, data: bytes) -> bytes:
        """These bytes with one of them changed, cut off or with more after."""
        if not data:
            return b"\0"
        at = self.randrange(len(data))
        return self.choice((data[:at], data + b"\0", data[:at] + self.randbytes(1) + data[at + 1 :]))


@functools.cache
def _messages(decoder: str) -> bytes:
    profile = profile_of(RELEASES[-1])
    regular = topic_records.decoder_of(profile, decoder).regular
    assert regular is not None
    return native_messages.compiled(regular, profile.control_types)


def exact(data: bytes) -> Buffer:
    """A buffer with nothing after it."""
    return array("B", data)[:]  # a copy has no room left to grow


def _references(buffers: list[Any]) -> list[int]:
    """How many references there are to each; in one way everywhere, since those of a loop are not counted alike."""
    return list(map(sys.getrefcount, buffers))


class Hostile:
    """Calls of the functions of a kernel, each by its name."""

    def __init__(self, native: ModuleType, seed: int) -> None:
        self._native = native
        self.chance = Chance(seed)
        self.calls: Sequence[Callable[[], None]] = (
            *(self.dump, self.dump, self.dump_log, self.dump_index, self.dump_time_index),
            *(self.walks, self.records, self.summaries, self.columns, self.others),
        )
        self.done = self.refused = 0

    def call(self, name: str, *arguments: Any) -> Any:  # arguments and results of all types
        """Call a function; None if it refuses the arguments. It must not keep references to them in any case."""
        self.done += 1
        buffers = [argument for argument in arguments if isinstance(argument, array)]
        references = _references(buffers)
        try:
            return getattr(self._native, name)(*arguments)
        except REFUSALS:
            self.refused += 1
            return None
        finally:
            assert references == _references(buffers), name

    def dump(self) -> None:
        """Dump a whole window while there is progress; then once with an impossible state."""
        chance = self.chance
        plan, window = self.call("compile_plan", exact(chance.plan())), exact(chance.log())
        out = exact(bytes(chance.choice((0, 64, 200, 1000, 1000, 20000, 20000, 200000))))
        gaps = chance.randrange(5)
        state = array("q", [-1, -1, 0, 0, *[0] * (2 * gaps)])
        start = filled = 0
        payload: Buffer | None = None
        for _ in range(200):
            answer = self.call("dump", plan, window, start, chance.choice((0, chance.number())), payload, out, filled, state)
            if answer is None:
                break
            filled, end, reason = answer
            assert start <= end <= len(window) and 0 <= filled <= len(out)
            assert 0 <= state[3] <= gaps
            payload = None
            start = end
            if reason == 0:
                break
            if reason == 1:
                filled = state[3] = 0
                if chance.random() < 0.5:
                    out = exact(bytes(min(2 * len(out) + 64, 1 << 20)))
            else:
                payload = exact(chance.log()[chance.choice((0, 61)) :])
        for _ in range(3):
            count = STATE_FIELDS + 2 * gaps if chance.random() < 0.9 else chance.randrange(4)
            state = array("q", [chance.number() for _ in range(count)])
            payload = exact(chance.log()[61:]) if chance.random() < 0.3 else None
            near = (len(window), len(out))
            self.call("dump", plan, window, chance.number(near[0]), chance.number(), payload, out, chance.number(near[1]), state)

    def dump_log(self) -> None:
        """Dump a whole log while there is progress, one window at a time; then once with impossible numbers."""
        chance = self.chance
        with tempfile.TemporaryFile() as file:
            data, _ = self._written(file)
            descriptor, end = file.fileno(), chance.choice((len(data), len(data) + 5, chance.randrange(len(data) + 1)))
            stop = chance.choice((end, chance.randrange(end + 1)))
            plan, out = self.call("compile_plan", exact(chance.plan())), exact(bytes(chance.choice((200, 1000, 20000, 200000))))
            window, state = exact(bytes(chance.choice((0, 61, 500, 20000)))), array("q", [-1, -1, 0, 0, 0, 0])
            position = filled = start = held = 0
            for _ in range(200):
                answer = self.call("dump_log", plan, descriptor, position, stop, end, window, start, held, out, filled, state)
                if answer is None:
                    break
                filled, reached, start, held, reason = answer
                assert position <= reached <= end and 0 <= start <= start + held <= len(window) and 0 <= filled <= len(out)
                assert window[start : start + held].tobytes() == data[reached : reached + held]
                position = reached
                if reason != 1 or reached >= stop:
                    break
                filled = state[3] = 0
            near = (len(data), len(window), len(out))
            position, stop, end, start, held, filled = (chance.number(near[at]) for at in (0, 0, 0, 1, 1, 2))
            if chance.random() < 0.7:
                position, stop, end = sorted((position, stop, end))
            way = chance.choice((descriptor, -1))
            self.call("dump_log", plan, way, position, stop, end, window, start, held, out, filled, state)

    def _written(self, file: IO[bytes]) -> tuple[bytes, int]:
        """A log that is written to a file, and its descriptor, which sometimes is none."""
        data = self.chance.log()
        file.write(data)
        file.flush()
        return data, file.fileno() if self.chance.random() < 0.95 else -1

    def dump_index(self) -> None:
        """An offset index, and a log that may belong to it."""
        chance = self.chance
        with tempfile.TemporaryFile() as file:
            data, descriptor = self._written(file)
            positions = [chance.mostly(0, chance.randrange(len(data) + 1)) & 0xFFFFFFFF for _ in range(6)]
            entries = b"".join(struct.pack(">iI", row, position) for row, position in enumerate(positions))
            program, index = exact(chance.program(has_texts=chance.random() < 0.1)), exact(chance.choice((entries, chance.log())))
            of_index = (program, index, chance.mostly(0, 0), chance.mostly(0, 0), chance.random() < 0.5)
            of_log = (descriptor, chance.mostly(len(data), near=len(data)), chance.mostly(5 << 20))
            out, pairs = chance.room(0, 64, 500, 5000), array("q", bytes(8 * chance.randrange(9)))[:]
            self.call("dump_index", *of_index, *of_log, out, chance.mostly(0, 0), pairs, chance.mostly(0, 0, near=4))

    def dump_time_index(self) -> None:
        """A time index and an offset index, and a log that may belong to them."""
        chance = self.chance
        with tempfile.TemporaryFile() as file:
            data, descriptor = self._written(file)
            size = len(data)
            entries = b"".join(struct.pack(">qi", chance.number(), chance.randrange(20)) for _ in range(6))
            positions = [chance.choice((0, 0, chance.randrange(size + 1))) for _ in range(6)]
            index = b"".join(struct.pack(">ii", row, position) for row, position in enumerate(positions))
            walks = array("q", bytes(8 * self._native.LOG_WALKS))
            if chance.random() < 0.3:
                for row in range(30):
                    walks[row] = chance.mostly(0, chance.number(size))
            program, times = (
                exact(chance.program(has_texts=chance.random() < 0.1)),
                exact(chance.choice((entries, entries, chance.log()))),
            )
            of_times = (program, times, chance.mostly(0, 0, 0), chance.number(), chance.number())
            of_index = (exact(chance.choice((index, index, b"", chance.log(), 400 * index))), chance.random() < 0.5)
            of_log = (walks, descriptor, chance.mostly(size, near=size))
            out, pairs = chance.room(0, 64, 500, 5000), array("q", bytes(8 * chance.randrange(12)))[:]
            self.call("dump_time_index", *of_times, *of_index, *of_log, out, chance.mostly(0, 0), pairs)
            position, window = chance.mostly(0, 0, near=size), chance.room(0, 1, 64, 500, 5000)
            bounds = (position, chance.mostly(size, near=size), chance.mostly(size, chance.number(size)))
            limits = (chance.choice((0, 1, 100, -1, 1 << 40)), chance.mostly(4, near=7))
            summarized = self.call("summarize_log", descriptor, *bounds, *limits, window, chance.random() < 0.5)
            if summarized is not None and summarized[2]:
                kept = data[position : summarized[0][self._native.SUMMARY.index("end")]]
                assert window[: len(kept)].tobytes() == kept
            self.call("walk_log", file.fileno(), chance.number(size), chance.mostly(size))

    def walks(self) -> None:
        chance = self.chance
        window = exact(chance.log())
        start = chance.choice((0, chance.number(len(window))))
        self.call("walk_batches", window, start, chance.number(7), chance.number(1) or None)
        self.call("walk_messages", window, start, chance.number(1), chance.number(7))
        self.call("walk_extents", window, start, chance.number())
        numbers_of = chance.number(len(window)), chance.number(), chance.choice((None, chance.number())), chance.number(9)
        self.call("walk_contents", window, start, *numbers_of, [])
        self.call("find", window, start, chance.random() < 0.5)
        numbers = [chance.choice((0, 1, chance.number(1 << 20))) for _ in range(3)]
        stop, left = chance.choice((len(window), chance.number())), chance.choice((len(window), chance.number()))
        self.call("next_intact", window, start, stop, left, chance.random() < 0.5, *numbers)
        self.call("next_header", window, start, stop, left, chance.random() < 0.5, chance.random() < 0.5, numbers[0])

    def summaries(self) -> None:
        """Summaries of windows: of a damaged log, and of batches with consecutive offsets."""
        chance = self.chance
        offset, batches = 0, b""
        for _ in range(chance.randrange(5)):
            offset += chance.choice((1, 1, 2, 1 << 40, chance.number()))
            batches += struct.pack(">q", offset & 0x7FFFFFFFFFFFFFFF) + chance.log()[8:]
        window = exact(chance.choice((chance.log(), batches)))
        start, position = chance.choice((0, 0, chance.number(len(window)))), chance.mostly(0, near=1 << 40)
        self.call("producer_streaks", window, start, chance.number(9), position)
        for answer in (
            self.call("summarize_batches", window, start, position, chance.mostly(4, near=7), None),
            self.call("summarize_messages", window, start, position, chance.choice((0, chance.number(1))), chance.number(7)),
        ):
            assert answer is None or [len(column) for column in answer[1:]] == [8 * answer[0][0]] * 4

    def columns(self) -> None:
        """Packed columns, valid and invalid, and queries to them."""
        chance = self.chance
        rows = array("q", [chance.number(600) for _ in range(chance.randrange(9))])[:]
        column = self._column()
        self.call("rows_of", column, rows)
        self.call("numbers_at", column, rows)
        self.call("numbers_of", column, chance.choice((0, chance.number(600))), chance.number(600))
        batches = [array("q", [chance.choice((0, 1, 99, 1 << 62)) for _ in range(chance.choice((3, 3, 3, 2)))]) for _ in range(3)]
        self.call("new_entries", *batches, chance.number(), tuple(chance.number() for _ in range(4)))

    def _column(self) -> tuple[Buffer, Buffer, Buffer]:
        """Directory, data and tail, as `pack` makes them of random numbers, and sometimes changed."""
        chance = self.chance
        step, spread = chance.choice((0, 1, 1, chance.number())), chance.choice((0, 0, 1, 300, 1 << 20, 1 << 50))
        first = chance.choice((0, 0, chance.number(1 << 40)))
        numbers = [first + step * row + chance.randrange(spread + 1) for row in range(chance.choice((0, 3, 256, 600, 1100)))]
        packed = array("q", [(number + (1 << 63)) % (1 << 64) - (1 << 63) for number in numbers])[:]
        answer = self.call("pack", packed, chance.mostly(0, 0))
        directory, data = answer or (b"", b"")
        if chance.random() < 0.3:
            directory = chance.changed(directory)
        if chance.random() < 0.2:
            data = chance.changed(data)
        tail = array("q", packed[len(packed) // 256 * 256 :])[:]
        return array("q", directory[: len(directory) // 8 * 8])[:], exact(data), tail

    def records(self) -> None:
        chance = self.chance
        data = exact(chance.log()[chance.choice((0, 61)) :])
        position, end = chance.mostly(0, near=len(data)), chance.mostly(len(data), near=len(data))
        self.call("walk_records", data, position, end, chance.number(9), chance.choice((1 << 40, chance.number())), [])
        rows: list[Any] = []
        self.call("walk_records", data, position, end, chance.number(9), 1 << 40, rows)
        self.call("count_odd_fields", data, position, end, rows, chance.choice((0, 1)), chance.number(3), chance.randrange(16))
        answer = self.call("skip_ordinary", data, position, end, *chance.choices((False, True), k=3), chance.number(9))
        if answer is not None:
            stop, odd, *_ = answer
            assert position <= stop <= end and not len(odd) % 40
        self._compressed(data, position, end)
        log = exact(chance.log())
        at = chance.choice((0, 61, chance.number(len(log))))
        odd = self.call("ordinary_records", log, chance.mostly(0, 0), log[at:], chance.choice((False, True)))
        assert odd is None or len(odd) in (0, 40)
        self._record_columns()

    def _compressed(self, data: Any, position: int, end: int) -> None:
        """Batches and messages said to be compressed."""
        chance = self.chance

        def decompress(payload: Any) -> Any:
            return chance.choice((bytes(payload), exact(chance.log()[61:]), memoryview(bytes(payload)), b"", None))

        answer = self.call("skip_compressed", data, position, end, chance.random() < 0.5, chance.randrange(5), decompress)
        if answer is not None:
            stop, odd, _ = answer
            assert position <= stop <= end and not len(odd) % 40
        codec = chance.randrange(5)
        stop = self.call("skip_messages", data, position, end, chance.random() < 0.5, chance.number(9), codec, decompress)
        assert stop is None or position <= stop <= end

    def _record_columns(self) -> None:
        """The records of several batches as columns, some of them impossible."""
        chance = self.chance
        batches: list[tuple[Any, ...]] = []
        for _ in range(chance.randrange(4)):
            log = chance.log()
            data, said = exact(log), int.from_bytes(log[57:61], "big", signed=True)
            position = chance.choice((61, 61, chance.number(len(data))))
            end = chance.mostly(len(data), near=len(data))
            count = said if 0 <= said < 1000 and chance.random() < 0.8 else chance.number(9)
            numbers = [chance.mostly(0, near=1 << 40) for _ in range(2)]
            batches.append((data, position, end, count, *numbers, chance.random() < 0.5, chance.choice((-1, chance.number(9)))))
        buffers = [batch[0] for batch in batches]
        references = _references(buffers)
        wanted, max_headers = chance.choice((255, chance.number(255))), chance.choice((1 << 17, chance.number(9)))
        found = self.call("record_columns", batches, wanted, max_headers)
        assert references == _references(buffers)
        if found is not None:
            rows = sum(batch[3] for batch in batches[: found[0]])
            assert all(len(column) in (4 * rows, 8 * rows) for column in found[2][:5] if column is not None)

    def others(self) -> None:
        chance = self.chance
        data = exact(chance.randbytes(chance.choice((0, 1, 7, 8, 9, 767, 768, 769, 12287, 12288, 12289, 20000))))
        self.call("crc32c", memoryview(data)[chance.randrange(9) :], chance.choice((0, 1, 0xFFFFFFFF)))

    def run(self, *, seconds: float = math.inf, rounds: float = math.inf) -> None:
        """Call all functions repeatedly, a number of times or until a deadline."""
        deadline = time.monotonic() + seconds
        while rounds > 0 and time.monotonic() < deadline:
            rounds -= 1
            for one in self.calls:
                one()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, help="call each function so many times, however long it takes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    missing = kernels.why_no_c()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    from kdump.binary import _kernel

    hostile = Hostile(_kernel, options.seed)
    hostile.run(**({"seconds": options.seconds} if options.rounds is None else {"rounds": options.rounds}))
    print(f"{hostile.done} calls, {hostile.refused} of them refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
