"""The options that take a release of Kafka."""

from __future__ import annotations

from kdump.cli.options import RELEASES, text
from kdump.releases import history

RELEASE = text(
    "--release",
    f"Print Kafka's lines as this release does, from {history.RELEASES[0]} to {history.RELEASES[-1]}.",
    default=history.RELEASES[-1],
    metavar="RELEASE",
    shows_default=True,
    completes=RELEASES,
)
