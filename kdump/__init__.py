"""Reads the files that Apache Kafka keeps on disk."""

__version__ = "0.1.0"

__all__ = ["check", "forecast", "verdict"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.forecast import forecast
    from kdump.verdicts.check import check, verdict

_HOMES = {"check": "kdump.verdicts.check", "forecast": "kdump.forecasts.forecast", "verdict": "kdump.verdicts.check"}


def __getattr__(name: str) -> object:
    """What the library offers is imported when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
