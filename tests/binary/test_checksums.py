"""The checksums of Kafka's files."""

import os
import subprocess
import sys
import zlib

import crc32c as package
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.binary import checksums, kernel
from kdump.binary.codecs.xxhash import xxhash32
from kdump.errors import MissingPackage
from tests.builders import checksums as builders
from tests.loops import each

pytestmark = pytest.mark.both_kernels

TABLE = checksums._table_crc32c()

CRC32C_VECTORS = [  # RFC 3720, B.4
    *((b"", 0x00000000), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)),
    *((bytes(range(32)), 0x46DD794E), (bytes(reversed(range(32))), 0x113FDB5C)),
]


@each(("data", "crc"), CRC32C_VECTORS)
def test_crc_32c_has_its_published_values(data: bytes, crc: int) -> None:
    assert TABLE(data) == crc
    assert checksums.crc32c_for(1 << 30)(data) == crc


def test_crc_32_is_the_one_of_zlib() -> None:
    assert checksums.crc32(b"123456789") == 0xCBF43926
    assert checksums.crc32 is zlib.crc32


@given(st.binary(max_size=300), st.integers(0, 300))
def test_checksums_are_those_of_the_package_and_of_the_builders_in_any_pieces(data: bytes, cut: int) -> None:
    whole = TABLE(data)
    assert whole == package.crc32c(data) == builders.crc32c(data)
    assert TABLE(data[cut:], TABLE(data[:cut])) == whole
    assert TABLE(memoryview(data)) == whole
    assert xxhash32(data) == builders.xxhash32(data)


def test_a_missing_package_is_named_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "native", None)
    monkeypatch.setitem(sys.modules, "crc32c", None)
    with pytest.raises(MissingPackage, match='need the package "crc32c"') as caught:
        checksums.crc32c_for(1 << 20)
    assert caught.value.remedy == "pip install crc32c"


@pytest.mark.parametrize(("byte_count", "is_imported"), [(0, False), (32 << 10, False), ((32 << 10) + 1, True)])
def test_only_many_bytes_are_worth_the_import_of_the_package(byte_count: int, is_imported: bool) -> None:
    program = (
        "import sys; from kdump.binary.checksums import crc32c_for; "
        f"assert crc32c_for({byte_count})(b'123456789') == 0xE3069283; print('crc32c' in sys.modules)"
    )
    environment = {**os.environ, "KDUMP_KERNEL": "python"}  # the one in C has a checksum of its own
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"{is_imported}\n"


@each(
    ("data", "checksum"),
    [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF), (b"Nobody inspects the spammish repetition", 0xE2293B2F)],
)
def test_xxhash_has_its_published_values(data: bytes, checksum: int) -> None:
    assert xxhash32(data) == checksum
