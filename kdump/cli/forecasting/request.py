"""What `kdump forecast` is asked for."""

from __future__ import annotations

from kdump.errors import UsageError
from kdump.forecasts.forecast import Request
from kdump.forecasts.settings import STOPS
from kdump.formats import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class ForecastRequest:
    """One invocation of `kdump forecast`. Raises UsageError for releases, settings and recovery points that do not exist."""

    def __init__(
        self,
        *,
        paths: Sequence[str],
        after: str | None,
        recovery_point: str | None,
        broker: str,
        config: Sequence[str],
        output: str,
    ) -> None:
        self.paths = tree.matching(paths)
        self.output = output
        self.broker = broker
        self.request = Request(
            release=broker,
            after=STOPS if after is None else (after,),
            recovery_point=recovery_point,
            config=dict(map(_setting, config)),
        )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--config {text}: a setting is NAME=VALUE")
    return name.strip(), value.strip()
