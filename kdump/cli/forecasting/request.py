"""What `kdump forecast` is asked for."""

from __future__ import annotations

from kdump.cli.shared_options import ESCAPE, settings_of
from kdump.forecasts.forecast import Request
from kdump.forecasts.settings import STOPS
from kdump.formats.selection import selected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.forecasting.options import ForecastOptions


class ForecastRequest:
    """One invocation of `kdump forecast`. Raises UsageError for releases, settings and recovery points that do not exist."""

    def __init__(self, options: ForecastOptions) -> None:
        self.paths = selected(options.paths, options.topics, options.partitions)
        self.output = options.output
        self.color = options.color
        self.escapes_formulas = options.csv_formulas == ESCAPE
        self.broker = options.broker
        self.request = Request(
            release=options.broker,
            after=STOPS if options.after is None else (options.after,),
            recovery_point=options.recovery_point,
            config=settings_of(options.config),
        )
