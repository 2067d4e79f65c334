"""Faults of the starts that come next: what else was found may be harmless, and be lost all the same."""

from __future__ import annotations

from kdump.checks.catalogue.fault_kind import BLIND, CUT, FaultKind
from kdump.checks.finding import ERROR

FAULTS = (
    FaultKind(
        "start-loses",
        ERROR,
        CUT,
        "the next start of a broker loses or overwrites what is here, or fails.",
        cause="what the other findings of this directory name: each of them alone may be harmless",
        kafka="a start cuts, deletes or appends where its files tell it to; `kdump forecast` follows it step by step",
        loss="what the message says: records, or offsets that are given a second time",
        remedy="keep a copy before any start; `kdump forecast` names what helps",
        see=("start-leaves-damage", "leftover-swap"),
    ),
    FaultKind(
        "start-leaves-damage",
        ERROR,
        BLIND,
        "the next start of a broker cuts off bytes that hold no whole batch, or leaves them.",
        cause="an append that was not finished, a cut copy, or zeros where a batch should be",
        kafka="after an unclean stop the end is cut; after a clean one appends follow it, and no consumer gets past the damage",
        loss="the batch that is not whole, if it was acknowledged; what comes after the damage cannot be read",
        remedy="keep a copy; compare the end with another replica, and let the broker recover before it appends",
        see=("start-loses", "torn-tail", "zero-tail"),
    ),
)
