"""Reads the files that Apache Kafka keeps on disk."""

__version__ = "0.1.0"

__all__ = ["check", "forecast"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.check import check
    from kdump.forecasts.forecast import forecast


def __getattr__(name: str) -> object:
    """What the library offers is imported when it is first asked for."""
    if name == "check":
        from kdump.checks.check import check

        return check
    if name == "forecast":
        from kdump.forecasts.forecast import forecast

        return forecast
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
