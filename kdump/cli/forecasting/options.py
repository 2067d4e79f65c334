"""The options of `kdump forecast`."""

from __future__ import annotations

from kdump.cli.options import RELEASES, choice, text, texts
from kdump.cli.shared_options import JudgingOptions
from kdump.forecasts.settings import CONFIG, RECOVERY_POINTS, STOPS
from kdump.releases.broker_startup import PROVED


class ForecastOptions(JudgingOptions):
    """What `kdump forecast` takes."""

    after: str | None = choice(
        "--after", STOPS, "How the broker stopped before this start; by default, forecast both.", metavar="STOP"
    )
    recovery_point: str | None = text(
        "--recovery-point",
        f"Up to where data counts as flushed: {', '.join(RECOVERY_POINTS)} or an offset. By default, what the checkpoint of the"
        " log directory says; zero if a log directory has none; elsewhere both zero and end. After an unclean stop, the broker"
        " scans all segments from there on.",
        metavar="WHERE",
        completes=RECOVERY_POINTS,
    )
    broker: str | None = text(
        "--broker",
        f"The broker's release, by default {PROVED[-1]}. kdump knows how {', '.join(PROVED)} start; for others, it uses the"
        " nearest of these.",
        metavar="RELEASE",
        completes=RELEASES,
    )
    config: tuple[str, ...] = texts(
        "--config",
        f"A setting of the broker or topic: {', '.join(CONFIG)}.",
        metavar="NAME=VALUE",
        completes=[f"{name}=" for name in CONFIG],
    )
