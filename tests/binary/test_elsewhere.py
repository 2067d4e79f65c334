"""Files in an object store: the same bytes however they are read, and no answer that is better than what the store gave."""

import contextlib
import errno
import gc
import os
import random
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary import elsewhere, paths, store_client, store_process, system
from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.cli import main as command_line
from kdump.errors import Unreadable
from tests.builders.records import batch, record
from tests.stores import Answer, Proxy, Store, of_environment, running_store
from tests.support import HANG, wait_until

ROOT = Path(__file__).parent.parent.parent
ORDERS = ROOT / "examples" / "orders-0"
PART = elsewhere.PART_BYTES
DENIED = Answer(403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
BROKEN = Answer(500, b"<Error><Code>InternalError</Code><Message>no</Message></Error>")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    pytest.importorskip("moto")
    with running_store() as store:
        yield store


@pytest.fixture
def proxy(store: Store) -> Iterator[Proxy]:
    with Proxy(store) as proxy, of_environment(proxy.endpoint):
        yield proxy


def _bytes(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def _log(count: int, value: bytes = b"v" * 5000) -> bytes:
    return b"".join(batch(records=[record(value=value)], base_offset=offset) for offset in range(count))


def _gets(proxy: Proxy) -> list[str]:
    return [request.range for request in proxy.requests if request.range]


def _run(*arguments: str) -> int:
    with mock.patch.object(sys, "argv", ["kdump", *arguments]):
        return command_line.main()


# --- Bytes


def test_reads_of_any_size_at_any_place_give_the_bytes_that_are_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "PART_BYTES", 1000)
    monkeypatch.setattr(elsewhere, "MAX_RUN", 4)
    monkeypatch.setattr(elsewhere, "MAX_PARTS", 9)
    data = _bytes(20_321)
    chance = random.Random(7)
    with Source(store.put("reads/x.log", data)) as source, Source(store.put("reads/y.log", data[::-1])) as other:
        position = 0
        for _ in range(150):
            position = chance.choice([position, position, chance.randrange(len(data) + 50)])
            count = chance.choice([1, 10, 500, 999, 1000, 1001, 5000, 30_000])
            assert source.read(position, count) == data[position : position + count]
            buffer = bytearray(count)
            filled = other.read_into(memoryview(buffer), position)
            assert buffer[:filled] == data[::-1][position : position + count]
            position += count
        assert source.size == len(data)


def test_a_file_that_is_read_on_takes_few_requests_of_more_and_more_bytes(store: Store, proxy: Proxy) -> None:
    data = _bytes(40 * PART + 10)
    with Source(store.put("requests/x.log", data)) as source:
        found = b"".join(source.read(position, PART) for position in range(0, len(data), PART))
    assert found == data
    sizes = [int(stop) - int(start) + 1 for start, stop in (text.removeprefix("bytes=").split("-") for text in _gets(proxy))]
    assert [size // PART for size in sizes] == [1, 2, 4, 8, 8, 8, 8, 1]
    assert sum(sizes) == len(data)
    file = elsewhere.open(store.put("requests/y.log", data), 0)
    for position in range(0, len(data), PART):
        file.read(position, PART)
        assert isinstance(file, elsewhere._OpenFile) and len(file._parts) <= elsewhere.MAX_PARTS


def test_a_read_of_the_end_takes_one_part(store: Store, proxy: Proxy) -> None:
    data = _bytes(9 * PART + 10)
    with Source(store.put("requests/end.log", data)) as source:
        assert source.read(len(data) - 10, 10) == source.read_exactly(len(data) - 10, 10) == data[-10:]
    assert len(_gets(proxy)) == 1
    assert len(proxy.requests) == 3  # one HEAD when it is opened, and one that compares the version


def test_many_threads_and_forks_read_the_same_open_file(store: Store) -> None:
    data = _bytes(6 * PART)
    failed: list[int] = []
    with Source(store.put("shared/x.log", data)) as source:
        source.read(0, 2 * PART + 1)  # leaves a request under way

        def read(seed: int) -> None:
            chance = random.Random(seed)
            for _ in range(6):
                position = chance.randrange(len(data))
                if source.read(position, PART) != data[position : position + PART]:
                    failed.append(position)

        child = os.fork()
        if not child:
            read(99)
            os._exit(len(failed))
        read(7)  # by the thread whose connection the fork knows
        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert os.waitpid(child, 0)[1] == 0
    assert failed == []


# --- What is there


def test_a_store_is_asked_like_a_disk(store: Store, proxy: Proxy) -> None:
    root = store.upload(ORDERS, "asked/orders-0")
    names = sorted(path.name for path in (ORDERS).iterdir())
    assert system.names(root) == names
    before = len(proxy.requests)
    assert all(system.is_file(f"{root}/{name}") for name in names)
    assert len(proxy.requests) == before, "one listing says what they are"
    assert [(entry.name, entry.is_directory) for entry in system.entries("s3://backups/asked")] == [("orders-0", True)]
    assert system.is_directory(root) and not system.is_file(root)
    assert system.size(f"{root}/{names[0]}") == (ORDERS / names[0]).stat().st_size
    assert not system.exists(f"{root}/nothing") and not system.is_link(root)
    with pytest.raises(Unreadable, match="is a directory"):
        Source(root)
    with pytest.raises(Unreadable, match="no such file"):
        Source(f"{root}/nothing")


def test_a_file_that_came_after_a_listing_is_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    root = store.upload(ORDERS, "come/orders-0")
    assert system.names(root)
    store.put("come/orders-0/new", b"1")
    assert system.is_file(f"{root}/new")
    assert system.names("s3://backups/come") == ["orders-0"]
    store.put("come/payments-0/new", b"1")
    assert system.is_directory("s3://backups/come/payments-0")
    monkeypatch.setattr(elsewhere, "_FRESH_SECONDS", 0.0)  # as if some time had passed
    assert system.names("s3://backups/come") == ["orders-0", "payments-0"]


def test_names_may_have_signs_that_urls_escape(store: Store) -> None:
    names = ["a b", "a#b", "a%20b", "a+b", "a?b", "größe"]
    urls = [store.put(f"names/{name}/x.log", name.encode()) for name in names]
    assert system.names("s3://backups/names") == names
    for name, url in zip(names, urls, strict=True):
        with Source(url) as source:
            assert source.read(0, 100) == name.encode()


@pytest.mark.parametrize(
    ("path", "above", "whole"),
    [
        *(("s3://b/x/y", "s3://b/x", "s3://b/x/y"), ("s3://b/x/", "s3://b", "s3://b/x"), ("s3://b", "s3://b", "s3://b")),
        *(("s3://b/", "s3://b", "s3://b"), ("hdfs:///x/y", "hdfs:///x", "hdfs:///x/y"), ("/x/y/", "/x", "/x/y")),
    ],
)
def test_what_is_above_and_absolute(path: str, above: str, whole: str) -> None:
    assert (paths.parent(path), paths.absolute(path)) == (above, whole)


@pytest.mark.parametrize(
    "text",
    [
        "Unable to load libjvm\ndlopen(/usr/lib/jvm/default-java/libjvm.so) failed: cannot open shared object file",
        "Unable to load libhdfs: ./libhdfs.so: cannot open shared object file",
        "Prior attempt to load libhdfs failed",
    ],
)
def test_hdfs_without_the_library_of_hadoop_says_what_to_set(text: str) -> None:
    told = str(store_process._refused(OSError(text)))
    assert told.startswith("hdfs:// needs Java and Hadoop's libhdfs")
    assert "set JAVA_HOME, HADOOP_HOME, and CLASSPATH" in told


@pytest.mark.parametrize(
    ("one", "other", "common", "relative"),
    [
        *(("s3://b/x/z", "s3://b/x/y", "s3://b/x", "z"), ("s3://b/x", "s3://c/x", "", "s3://b/x")),
        *(("s3://b/x", "/x", "", "s3://b/x"), ("/a/b", "/a/c", "/a", "b")),
    ],
)
def test_what_is_common_and_relative(one: str, other: str, common: str, relative: str) -> None:
    assert (paths.common([one, other]), paths.relative(one, common)) == (common, relative)
    assert paths.relative(one, "s3://d/x") == one or not paths.is_url(one)


# --- What a store does not give


def test_an_object_that_is_replaced_is_never_mixed(store: Store) -> None:
    old, new = _bytes(12 * PART, 1), _bytes(12 * PART, 2)
    with Source(store.put("replaced/x.log", old)) as source:
        assert source.read(0, PART) == old[:PART]
        store.put("replaced/x.log", new)
        with pytest.raises(Unreadable, match="was replaced or removed while it was read") as caught:
            source.read(5 * PART, PART)
        assert (caught.value.code, caught.value.position) == ("file-shrank", 5 * PART)
        store.put("replaced/x.log", old)
        with pytest.raises(Unreadable, match="was replaced or removed"):
            source.read(8 * PART, PART)  # nobody asks again
        store.put("replaced/x.log", new)
    with TolerantSource("s3://backups/replaced/x.log") as again:
        assert again.read(0, PART) == new[:PART]
        store.remove("replaced/x.log")
        with pytest.raises(Unreadable, match="was replaced or removed"):
            again.read(5 * PART, PART)
        assert again.bad_ranges == []


def test_an_object_that_is_replaced_between_request_and_answer_is_noticed(store: Store, proxy: Proxy) -> None:
    old, new = _bytes(3 * PART, 1), _bytes(3 * PART, 2)
    url = store.put("replaced/y.log", old)

    proxy.decide = lambda request: store.replace("replaced/y.log", new) if request.range else None
    with Source(url) as source, pytest.raises(Unreadable, match="was replaced"):
        source.read(0, PART)


def test_a_check_reports_an_object_that_is_replaced(store: Store, proxy: Proxy, capfd: pytest.CaptureFixture[str]) -> None:
    data = _log(2000)
    url = store.put("checked/t-0/00000000000000000000.log", data)

    name, more = "checked/t-0/00000000000000000000.log", data + _log(1)
    proxy.decide = lambda request: store.replace(name, more) if request.range.startswith(f"bytes={3 * PART}") else None
    assert _run("check", url) == 3
    out = capfd.readouterr().out
    assert "file-shrank" in out and "Was replaced or removed while it was read" in " ".join(out.split())
    assert "crc-mismatch" not in out


@pytest.mark.parametrize("failure", [BROKEN, 1000, Answer(503)], ids=["error", "cut", "busy"])
def test_a_request_that_fails_once_is_tried_again(store: Store, proxy: Proxy, failure: Answer | int) -> None:
    data = _bytes(2 * PART)
    url = store.put("once/x.log", data)
    proxy.decide = lambda request: failure if request.range and not request.earlier else None
    with Source(url) as source:
        assert source.read(0, len(data)) == data


def test_bytes_that_a_store_does_not_give_are_a_finding_and_the_rest_is_examined(
    store: Store, proxy: Proxy, capfd: pytest.CaptureFixture[str]
) -> None:
    url = store.put("broken/t-0/00000000000000000000.log", _log(1200))
    proxy.decide = lambda request: BROKEN if request.range.startswith(f"bytes={3 * PART}-") else None
    with mock.patch.object(elsewhere, "MAX_RUN", 1):
        assert _run("check", "--output", "ndjson", url) in (1, 3)
    out = capfd.readouterr().out
    assert f'"code":"io-error","severity":"error","path":"{url}"' in out.replace(", ", ",")
    assert f'"start":{3 * PART},"end":{4 * PART}' in out
    assert '"isComplete":false' in out


def test_a_store_that_gives_nothing_more_is_left_alone_after_some_failures(store: Store, proxy: Proxy) -> None:
    url = store.put("broken/y.log", _bytes(30 * PART))
    with TolerantSource(url) as source:
        proxy.decide = lambda request: BROKEN if request.range else None
        for position in range(0, 30 * PART, PART):
            assert source.read(position, PART) == bytes(PART)
        assert source.bad_ranges == [(0, 30 * PART)]
    tried = {request.range for request in proxy.requests if request.range}
    assert len(tried) == elsewhere._MAX_FAILURES


COMMANDS = ["check", "log", "index", "forecast", "grep a", "scan --engine local"]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_may_not_be_read_is_not_examined(
    store: Store, proxy: Proxy, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    url = store.upload(ORDERS, "denied/orders-0")
    proxy.decide = lambda request: DENIED
    assert _run(*command.split(), url) == 3
    out, err = capfd.readouterr()
    assert "the store denies it" in out + err
    assert "fine" not in out and "absent" not in out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_store_that_cannot_be_reached_is_not_examined(store: Store, capfd: pytest.CaptureFixture[str], command: str) -> None:
    with of_environment("127.0.0.1:9", KDUMP_STORES="s3://backups?connect_timeout=1&request_timeout=1"):
        assert _run(*command.split(), "s3://backups/down/orders-0") == 3
    out, err = capfd.readouterr()
    assert "NETWORK_CONNECTION" in out + err


def test_one_file_that_may_not_be_read_makes_a_check_incomplete(
    store: Store, proxy: Proxy, capfd: pytest.CaptureFixture[str]
) -> None:
    url = store.upload(ORDERS, "partly/orders-0")
    proxy.decide = lambda request: DENIED if request.path.endswith("00000000000000000007.log") else None
    assert _run("check", url) == 3
    assert "Verdict: not examined" in capfd.readouterr().out
    assert _run("grep", "certainly not there", url) == 3
    assert "not proven" in "".join(capfd.readouterr())


def test_those_who_may_read_but_not_list_can_name_a_file(store: Store, proxy: Proxy) -> None:
    url = store.put("unlisted/t-0/00000000000000000000.log", _log(2))
    proxy.decide = lambda request: DENIED if "list-type" in request.path or request.path.endswith("/backups") else None
    assert _run("log", url) == 0


def test_options_of_a_store_are_in_the_environment(store: Store) -> None:
    url = store.put("options/x.log", b"x")
    options = f"s3://other?region=x s3://backups?endpoint_override={store.endpoint}&scheme=http"
    with of_environment("127.0.0.1:9", KDUMP_STORES=options), Source(url) as source:
        assert source.size == 1


def test_a_url_of_azure_has_to_name_the_account(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    with mock.patch.dict(os.environ):
        os.environ.pop("AZURE_STORAGE_ACCOUNT", None)
        assert _run("log", "abfss://container/x.log") == 3
    assert "the URL names no account: abfss://CONTAINER@ACCOUNT" in capfd.readouterr().err


def test_a_self_contained_build_is_the_process_that_reads_stores_itself(
    store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = store.put("frozen/t-0/00000000000000000000.log", _log(3))
    program = tmp_path / "kdump"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {ROOT / "tools" / "frozen.py"} "$@"\n')
    program.chmod(0o755)
    store_client.end()
    with of_environment(store.endpoint), mock.patch.object(sys, "executable", str(program)):
        with mock.patch.object(sys, "frozen", True, create=True):
            assert _run("log", url) == 0
        assert store_client._process is not None
        assert store_client._process._started.args == [str(program), store_client.OF_FROZEN]
        store_client.end()
    assert "baseOffset" in capfd.readouterr().out


def test_without_its_package_a_store_cannot_be_read(store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError('no')")
    store_client.end()
    with mock.patch.object(sys, "path", [str(tmp_path), *sys.path]), of_environment(store.endpoint):
        assert _run("log", "s3://backups/options/x.log") == 3
    assert 'needs the package "pyarrow": pip install pyarrow (it is in kafka-kdump[elsewhere])' in capfd.readouterr().err


# --- The process that reads


def test_the_process_that_reads_ends_with_the_last_that_asks(store: Store, tmp_path: Path) -> None:
    url = store.put("ends/t-0/00000000000000000000.log", _log(3))
    program = f"""
import os, sys
from kdump.binary import store_client, system
assert system.exists({url!r})
print(store_client._process._started.pid, flush=True)
child = os.fork()
if not child:
    assert system.size({url!r}) > 0
    sys.stdin.read()
    os._exit(0)
os._exit(0)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None and started.stdin is not None
        reader = int(started.stdout.readline())
        started.wait(HANG)
        os.kill(reader, 0)  # the fork still holds it
        started.stdin.close()
        wait_until(lambda: not Path(f"/proc/{reader}/cmdline").exists() or not Path(f"/proc/{reader}/cmdline").read_bytes())


def test_a_process_that_was_killed_is_an_error_and_started_again(store: Store) -> None:
    url = store.put("killed/x.log", b"x" * 100)
    assert system.exists(url)
    process = store_client._process
    assert process is not None
    process._started.kill()
    process._started.wait()
    with pytest.raises(Unreadable) as caught:
        Source(url)
    assert caught.value.code == "file-io-error"
    with Source(url) as source:
        assert source.read(0, 5) == b"xxxxx"


def test_a_process_that_is_slow_to_end_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python warns of a process that still runs when nobody refers to it any more."""
    monkeypatch.setattr(store_client, "_END_SECONDS", 0)
    before = len(store_client._outliving)
    store_client._Process().end()
    gc.collect()
    assert len(store_client._outliving) == before + 1


def test_only_failures_in_a_row_end_the_reading_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(name: str, _url: str, start: int = 0, *_: object) -> tuple[dict[str, object], bytes]:
        if start // PART % 2:
            raise OSError(errno.EIO, "it is not there")
        return {"kind": "file", "size": 20 * PART, "version": "1"}, b"x" * PART

    monkeypatch.setattr(elsewhere, "_ask", ask)
    file = elsewhere.open("s3://data/a.log", os.O_RDONLY)
    for part in reversed(range(20)):
        with pytest.raises(OSError, match="it is not there") if part % 2 else contextlib.nullcontext():
            assert elsewhere.pread(file, 3, part * PART) == b"xxx"
