"""The brokers of docs/spark.md: three of them, with one thing wrong for each question that is asked there."""

from __future__ import annotations

from pathlib import Path

from .builders.fleets import data, flipped, write_fleet
from .builders.records import TIMESTAMP, batch, record, transaction_marker

HOUR, DAY = 3_600_000, 86_400_000
YEAR_2099 = 4_070_908_800_000


def write_cookbook_fleet(folder: Path) -> Path:
    """Write the log directories of all three brokers, and return where they lie."""
    orders = [_packed(offset, epoch=offset // 40) for offset in range(0, 120, 10)]
    damaged = [*orders[:7], flipped(orders[7]), *orders[8:]]
    write_fleet(
        folder,
        {
            "1": {
                "orders-0": {0: orders[:6], 60: orders[6:]},
                "orders-1": {0: [_packed(0)]},
                "payments-0": {0: _open_transaction()},
                "customers-0": _customers(),
            },
            "2": {
                "orders-0": {0: damaged[:6], 60: damaged[6:]},
                "payments-1": {0: _ended_transaction()},
                "clicks-0": _clicks(),
                "customers-0": _customers(),
            },
            "3": {"orders-0": {0: [*orders[:3], *orders[4:6]], 60: orders[6:10]}, "clicks-1": {0: _resent()}},
        },
        cleaned={"1": {"customers-0": 30}, "2": {"customers-0": 5}},
    )
    for broker in (1, 2):
        (folder / f"broker={broker}" / "meta.properties").write_text(f"version=0\nbroker.id={broker}\n")
    return folder


def _packed(offset: int, *, epoch: int = 0) -> bytes:
    values = [f'{{"order": {offset + row}, "state": "shipped", "currency": "EUR"}}'.encode() for row in range(10)]
    return batch(
        records=[record(key=b"order-%d" % (offset + row), value=value) for row, value in enumerate(values)],
        base_offset=offset,
        codec="gzip",
        partition_leader_epoch=epoch,
    )


def _open_transaction() -> list[bytes]:
    written = TIMESTAMP - 2 * HOUR
    paid = data(1, 2, producer=4000, sequence=0, is_transactional=True, at=written)
    return [data(0, at=written - 1000), paid, data(3, 40, value=bytes(100), at=TIMESTAMP)]


def _ended_transaction() -> list[bytes]:
    written = TIMESTAMP - 2 * HOUR
    paid = data(0, 2, producer=4000, sequence=0, is_transactional=True, at=written)
    return [paid, transaction_marker(base_offset=2, producer_id=4000, producer_epoch=0, timestamp=written + 3000)]


def _clicks() -> dict[int, list[bytes]]:
    large = data(20, key=b"user-7", value=bytes(5000))
    return {
        0: [data(0, 10, key=b"user-1")],
        10: [data(10, 10, key=b"user-2", at=YEAR_2099)],
        20: [large],
        21: [data(21, key=b"user-1")],
    }


def _resent() -> list[bytes]:
    sent = [data(offset, 5, producer=77, sequence=offset, key=b"user-3") for offset in (0, 5)]
    return [*sent, data(10, 5, producer=77, sequence=5, key=b"user-3"), data(15, 5, producer=77, sequence=20, key=b"user-3")]


def _customers() -> dict[int, list[bytes]]:
    return {base: [data(base + row, key=b"customer-%d" % ((base + row) % 7)) for row in range(10)] for base in (0, 10, 20, 30)}
