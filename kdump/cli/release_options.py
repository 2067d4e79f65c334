"""The options that take a release of Kafka."""

from __future__ import annotations

from kdump.cli.options import RELEASES, text
from kdump.releases import known

RELEASE = text(
    "--release",
    f"Print Kafka's lines as this release does, from {known.RELEASES[0]} to {known.RELEASES[-1]}.",
    default=known.RELEASES[-1],
    metavar="RELEASE",
    shows_default=True,
    completes=RELEASES,
)
