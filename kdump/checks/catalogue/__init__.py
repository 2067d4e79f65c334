"""All faults that a check can report: severity, cause, what Kafka does about it, and what to do.

A code is a promise: it never changes its meaning. Rules find faults; the general text about each of them
is here, in a module for each part of a log directory. It is imported when it is first needed: most checks find nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.catalogue.all_faults import FAULTS, FLEET, SCAN, SECTIONS, STARTS
    from kdump.checks.catalogue.fault_kind import FORECASTS, FaultKind
    from kdump.checks.catalogue.running import RUNNING

__all__ = ["FAULTS", "FLEET", "FORECASTS", "RUNNING", "SCAN", "SECTIONS", "STARTS", "FaultKind"]

_HOMES = {"FORECASTS": "fault_kind", "FaultKind": "fault_kind", "RUNNING": "running"}
"""The modules of names; all others are in `all_faults`."""


if not TYPE_CHECKING:  # otherwise type checkers would accept any name

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = __import__(f"{__name__}.{_HOMES.get(name, 'all_faults')}", fromlist=[name])  # as importlib, without it
        globals()[name] = value = getattr(module, name)
        return value
