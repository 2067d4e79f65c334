"""The row of a forecast, and the changes that could be made before the start."""

from __future__ import annotations

from typing import cast

from kdump.forecasts import outcome, places, settings
from kdump.forecasts.events import Events
from kdump.forecasts.known_end import KnownEnd
from kdump.tables import Bool, Declared, Int64, Pair, Row, Text, column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Change(Declared):
    """Files to remove, empty files to create, and whether to discard the stored log start offset."""

    taken: Sequence[str] = ()
    made_empty: Sequence[str] = ()
    is_without_log_start: bool = False


class Remedy(Declared):
    """A change, and the same start after it."""

    change: Change
    then: Forecast


class Forecast(Row, kind="forecast"):
    """What a broker of this release will do with a directory at its next start.

    `after` is the kind of stop before it, `recovery_point` the offset up to which segments count as flushed; if none is
    stored, it is assumed to be zero in one row and the end of the log in another. `outcome` is the first that applies of
    `die` (loading fails, the broker ends), `offline` (the log directory is taken offline), `stray` (the directory is renamed
    to -stray, and its log not served), `wipe` (a segment is emptied), `cut` (a segment is cut at its first bad batch, later
    ones are deleted), `split` (a segment becomes several), `rescan` (a segment is scanned because of its index, and cut if it
    is bad; later ones stay), `delete` (files are deleted) and `keep`; `also` are the others that apply. `log_start` and
    `log_end` are those of the loaded log; `data_end` is after the last intact batch of the newest segment: if `end_differs`,
    new records get offsets that exist, or go missing. Bytes lost are counted in logs, before less after; records and offsets
    lost are those of intact batches. `damaged_batches` stay in the logs after the start, and consumers get no further than
    `consumers_stop_at`. `segments` are base offset and size of each afterwards, `files` those that change in name or size,
    except rebuilt indexes and snapshots. `exception` ends the loading, `reason` says in plain words why this happens.
    `conditions` are assumptions that could not be verified.
    """

    path: Text = column("The partition directory, as found under the given path.")
    release: Text = column("The release of the broker: of the known ones, the nearest to the one asked for.")
    after: Text = column("The stop before the start.", settings.STOPS)
    recovery_point: Int64 = column(
        "The offset up to which segments are assumed to be flushed: an unclean start scans those after it."
    )
    recovery_point_is_assumed: Bool = column(
        "Whether no checkpoint has the recovery point: one row has zero, another the end of the log."
    )
    outcome: Text = column("The outcome in one word: the first that applies.", outcome.OUTCOMES)
    also: list[Text] = column("The other words that apply.")
    log_start: Int64 | None = column("The log start offset of the loaded log; null if it is not loaded.")
    log_end: Int64 | None = column("The log end offset of the loaded log; null if it is not loaded.")
    data_end: Int64 | None = column(
        "The offset after the last intact batch of the newest segment, after the start; its base if it has none."
    )
    end_differs: Bool = column("Whether the log end is not the data end: offsets are assigned a second time, or a gap is left.")
    bytes_lost: Int64 = column(
        "The size of all logs before, minus their size after; negative if files come in under another name."
    )
    lost_offsets: list[Pair] = column("Offset ranges of lost intact batches that no other batch covers.")
    lost_records: Int64 = column("The number of records in intact batches that are in no log afterwards.")
    damaged_batches: Int64 = column("The number of damaged batches that stay in the logs, because the start does not read them.")
    consumers_stop_at: Int64 | None = column(
        "The first offset that cannot be read because of damage that stays; null if there is none."
    )
    segments: list[Pair] | None = column("Base offset and size of each segment afterwards; null if the log is not loaded.")
    segments_gone: list[Text] = column("The names of logs that no longer exist.")
    files: list[dict[Text, Text | Int64 | None]] = column(
        "Logs and leftovers that change in name or size, and indexes that are deleted: name, change, new name, sizes."
    )
    exception: Text | None = column("The class of the exception if loading fails.")
    reason: Text | None = column("Why, in plain words; null if nothing happens.")
    conditions: list[Text] = column("What the forecast depends on that could not be determined.")

    # Without annotations, these are not columns: only the text report uses them.
    events = Events()
    remedy = cast("Remedy | None", None)
    segments_before = size_before = 0
    kind = places.PARTITION
    is_misnamed = False
    bad_checkpoint = duplicate = ""
    is_only_unserved = False  # the broker and the log directory go on, without its replicas
    topic_id = cast("bytes | None", None)
    dead_logs = cast("list[str]", [])
    is_of_metadata = False  # a node replays its records once it is loaded
    was_never_written = False  # by its files, which are only asked for where it is set aside
    is_doubtful = False  # a condition is likely to hold
    is_denied = is_not_loaded = False
    is_safe_but_for_checkpoint = False
    losses_may_be_more = False  # the search for lost batches was cut short
    data_may_end_later = False  # the search for the last batch was cut short
    lacks_metadata = False  # records of the metadata log are missing
    orphans = cast("list[str]", [])  # segments of which only indexes were there
    is_missing = False  # no directory of it is there, though a checkpoint names it
    is_given_up = False  # what it does after many splits was not foretold
    known_end = cast("KnownEnd | None", None)  # how far the log once went

    @property
    def is_too_short(self) -> bool:
        """Whether the log had records after its end, or all of it is gone: a leader gives their offsets to new records."""
        is_new = not self.segments_before and (self.log_end or 0) <= (self.log_start or 0)
        return self.known_end is not None and (is_new or self.known_end.offset > self.intact_end)

    @property
    def intact_end(self) -> int:
        """The offset after all that is left, also what the broker does not see; 0 if nothing is."""
        return max(self.log_end or 0, self.data_end or 0)

    @property
    def is_set_aside(self) -> bool:
        """Whether the directory is marked as stray, with something in it."""
        return self.outcome == outcome.STRAY and not self.was_never_written

    @property
    def is_safe(self) -> bool:
        """Whether the start succeeds, nothing is lost, and the log ends where its data ends."""
        is_lossless = self.bytes_lost <= 0 and not self.lost_records and not self.segments_gone
        is_served = self.outcome not in (outcome.DIE, outcome.OFFLINE, outcome.WIPE) and not self.is_set_aside
        return is_served and is_lossless and not self.end_differs and not self.is_too_short and not self.is_doubtful

    @property
    def is_sound(self) -> bool:
        """Whether the start is safe and leaves no unread damage in the logs."""
        return self.is_safe and self.consumers_stop_at is None
