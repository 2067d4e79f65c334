"""Lists producer snapshots (`.snapshot`)."""

from __future__ import annotations

from kdump.formats import producer_snapshot
from kdump.output.rows import listing
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.listing.run import Run


def list_producer_snapshot(run: Run, path: str) -> None:
    """List a producer snapshot. Raises CorruptData if it is damaged."""
    with run.opened(path) as source:
        path = source.path
        run.head(path)
        for table in producer_snapshot.read(source):
            states = list(table.slice(0, run.room(len(table))))
            if run.output is None:
                for state in states:
                    run.out.write(run.text.producer_line(state))
            elif states:
                run.output.write(Table.of(listing.ListedProducer, [listing.producer(state, path) for state in states]))
            run.count(len(states))
