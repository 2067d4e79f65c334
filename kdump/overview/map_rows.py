"""The rows of a map: segments of a partition, the spans that each consists of, and marks at places in them."""

from __future__ import annotations

from kdump.tables import Bool, Int16, Int64, Row, Text, column

SOUND, SALVAGED, DAMAGED, ZERO, NOT_EXAMINED, GOES = "sound", "salvaged", "damaged", "zero", "not_examined", "goes"
KINDS = (DAMAGED, NOT_EXAMINED, SALVAGED, GOES, ZERO, SOUND)
"""What a span is, the one that hides the others first; `goes` is sound, but deleted by a start after a crash."""

BYTES, OFFSETS, TIME = "bytes", "offset", "time"
AXES = (BYTES, OFFSETS, TIME)
"""What a map may have from left to right."""

PLOT_OF_MAP, PLOT_OF_BYTES, PLOT_OF_TIMESTAMPS, PLOT_OF_PRODUCERS = "map", "bytes", "timestamps", "producers"
PLOTS = (PLOT_OF_MAP, PLOT_OF_BYTES, PLOT_OF_TIMESTAMPS, PLOT_OF_PRODUCERS)
"""What a picture of a partition may show."""

SVG, PNG = "svg", "png"
PICTURES = (SVG, PNG)
"""The formats of pictures."""

EPOCH, READERS, FINDING = "epoch", "readers", "finding"
ROLES = (FINDING, READERS, EPOCH)

BATCHES, COMMITTED, ABORTED, ENDED, OPEN = "batches", "committed", "aborted", "ended", "open"
RUNS = (BATCHES, COMMITTED, ABORTED, ENDED, OPEN)
"""What a run of a producer is: batches without a transaction, or a transaction by how it ended; `ended` if its marker cannot
be read."""


class MapSegment(Row, kind="map-segment"):
    """A segment: offsets and times of what was read of it. `end_offset` is after the last; null if nobody knows it."""

    path: Text = column("The partition directory.")
    log: Text = column("The log file.")
    base_offset: Int64 = column("The number in its name.")
    end_offset: Int64 | None
    size: Int64
    batches: Int64 = column("How many batches were read.")
    oldest_timestamp: Int64 | None
    newest_timestamp: Int64 | None
    indexed_to: Int64 | None = column(
        "The byte to which the last entry of the offset index leads; null if there is no index to read."
    )
    notes: list[Text] = column("What is wrong with its other files, and what a start does with it.")


class MapSpan(Row, kind="map-span"):
    """Bytes of a segment of one kind, `end` exclusive; offsets and times are those of its batches, null of what has none."""

    log: Text
    status: Text = column(
        f"What these bytes are: {', '.join(KINDS)}; `goes` is sound, but deleted by a start after a crash.", KINDS
    )
    start: Int64
    end: Int64
    first_offset: Int64 | None
    last_offset: Int64 | None
    oldest_timestamp: Int64 | None
    newest_timestamp: Int64 | None


class MapMark(Row, kind="map-mark"):
    """Something at a place: a finding (`what` is its code), where a leader epoch begins, or where readers of commits wait."""

    log: Text
    role: Text = column(
        f"{FINDING}, {EPOCH} (a leader epoch begins) or {READERS} (readers of committed records wait here).", ROLES
    )
    what: Text = column("The code of the finding, or the epoch.")
    start: Int64
    end: Int64
    offset: Int64 | None = column("The offset that it is about.")
    message: Text


class MapProducer(Row, kind="map-producer"):
    """A producer of a partition, by its batches that are not damaged; `producer_epoch` is its highest."""

    path: Text
    producer_id: Int64
    producer_epoch: Int16
    first_offset: Int64
    last_offset: Int64
    oldest_timestamp: Int64 | None
    newest_timestamp: Int64 | None
    batches: Int64
    size: Int64
    committed: Int64 = column("How many of its transactions have a marker that commits them.")
    aborted: Int64
    is_open: Bool = column("Whether it has a transaction without a marker, as far as the logs were read.")


class MapRun(Row, kind="map-run"):
    """Batches of a producer without a long silence between them, or one of its transactions with its marker."""

    path: Text
    producer_id: Int64
    producer_epoch: Int16
    what: Text = column(
        f"{', '.join(RUNS)}: batches without a transaction, or how a transaction ended; `{ENDED}` if its marker cannot be read.",
        RUNS,
    )
    first_offset: Int64
    last_offset: Int64
    oldest_timestamp: Int64 | None
    newest_timestamp: Int64 | None
    batches: Int64
    size: Int64


ROW_CLASSES: tuple[type[Row], ...] = (MapSegment, MapSpan, MapMark, MapProducer, MapRun)
