"""Tries kdump on what a live broker writes, and the broker on what kdump writes.

    python -m campaigns.live_broker --part streams --count 200    kills queries over a directory that is written to
    python -m campaigns.live_broker --part streams --spark --count 20
    python -m campaigns.live_broker --part copies --count 300     exchanges partitions for what kdump makes of them
    python -m campaigns.live_broker --part starts --count 50      kills the broker, and foretells its next start

A broker in one process and its clients, all of them Kafka's own, run on loopback, and end with the campaign.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from campaigns import live_copies, live_starts, live_streams
from tests.oracle import live_broker
from tests.oracle.live_broker import Broker, Clients

PARTS = ("streams", "copies", "starts")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return the exit code: 1 if something fails, 2 if there is no broker."""
    parser = argparse.ArgumentParser(
        prog="python -m campaigns.live_broker", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; repeatable")
    parser.add_argument("--count", type=int, default=100, help="kills, partitions or starts of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--release", choices=live_broker.RELEASES, default=live_broker.RELEASES[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="copies: keep the partitions of a round that fails here")
    parser.add_argument("--spark", action="store_true", help="streams: with Spark, which takes much longer")
    chosen = parser.parse_args(arguments)
    if missing := live_broker.why_not_available(chosen.release):
        print(missing, file=sys.stderr)
        return 2
    failures: list[str] = []
    folder = tempfile.TemporaryDirectory(prefix="kdump-live-", ignore_cleanup_errors=True)
    with folder as name, live_broker.running(Path(name), chosen.release) as (broker, clients):
        for part in chosen.part or PARTS:
            failures += _run(part, broker, clients, chosen)
    return int(bool(failures))


def _run(part: str, broker: Broker, clients: Clients, chosen: argparse.Namespace) -> list[str]:
    """Run a part; return what fails."""
    if part == "streams":
        return live_streams.campaign(broker, clients, chosen.count, chosen.seed, is_plain=not chosen.spark)
    if part == "copies":
        return live_copies.campaign(broker, clients, chosen.count, chosen.seed, chosen.keep)
    return live_starts.campaign(broker, clients, chosen.count, chosen.seed)


if __name__ == "__main__":
    sys.exit(main())
