"""The notation of the catalogue."""

from __future__ import annotations

from kdump.tables import Declared

BLIND, CUT, RESCAN, SPLIT, WIPE = "blind", "cut", "rescan", "split", "wipe"
DIE, OFFLINE, STRAY, DELETE, IGNORE = "die", "offline", "stray", "delete", "ignore"

FORECASTS = {
    BLIND: "not checked at a start: consumers, followers or the cleaner meet it later",
    CUT: "if the segment is scanned, it is truncated at the first bad batch, and all later segments are deleted",
    RESCAN: "this segment is scanned, its indexes are rebuilt, and it is truncated at the first bad batch; later segments stay",
    SPLIT: "the segment is split where its offsets overflow",
    WIPE: "the segment is emptied, and all later segments are deleted",
    DIE: "log loading fails, and the broker does not start",
    OFFLINE: "the log directory is taken offline",
    STRAY: "the directory is renamed to -stray, and its log is not served",
    DELETE: "the file is removed",
    IGNORE: "nothing: it is accepted",
}
"""What a broker does at its next start, by the word in a finding."""


REBUILD, ABORT = "rebuild", "abort"
"""Commands that can repair a fault: delete the offset index of a sound log; abort a hanging transaction."""


class FaultKind(Declared):
    """One fault: its code, its default severity, and the text about it.

    `title` continues "CODE (SEVERITY): ". `cause` is how it comes about, `kafka` what Kafka's tool and a broker do with it,
    `loss` what is lost, `remedy` what to do. `see` names related codes. `is_pedantic` hides it, as info, by default. As an
    error, one that `leaves_unexamined` something makes a run incomplete. `action` names the command that repairs it, if any.
    `restart` says what a start does with it, where the forecast is not the same for all.
    """

    code: str
    severity: str
    forecast: str
    title: str
    cause: str
    kafka: str
    loss: str
    remedy: str
    see: tuple[str, ...] = ()
    is_pedantic: bool = False
    leaves_unexamined: bool = False
    action: str = ""
    restart: str = ""

    @property
    def at_restart(self) -> str:
        """What a start does with it."""
        return self.restart or FORECASTS[self.forecast]
