"""Faults of the next broker start, which can lose data even if every other finding is harmless."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import BLIND, CUT, FaultKind
from kdump.checks.finding import ERROR

FAULTS = (
    FaultKind(
        "start-loses",
        ERROR,
        CUT,
        "the next broker start loses or overwrites data that is here, or fails.",
        cause="the other findings in this directory: each of them alone may be harmless",
        kafka="a start truncates, deletes or appends as its files direct it; `kdump forecast` follows it step by step",
        restart="what the message says",
        loss="see the message: records, or offsets that are assigned a second time",
        remedy="keep a copy before any start; `kdump forecast` suggests what helps",
        see=("start-leaves-damage", "leftover-swap"),
    ),
    FaultKind(
        "start-leaves-damage",
        ERROR,
        BLIND,
        "the next broker start cuts off bytes that are not a whole batch, or leaves them.",
        cause="an unfinished append, an incomplete copy, or zeros where a batch should be",
        kafka="after an unclean stop the end is cut; after a clean one, appends follow it, and no consumer gets past the damage",
        loss="the incomplete batch, if it was acknowledged; what comes after the damage cannot be read",
        remedy="keep a copy; compare the end with another replica; let the broker recover the log before it appends",
        see=("start-loses", "torn-tail", "zero-tail"),
    ),
)
