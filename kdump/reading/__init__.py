"""Reads logs from end to end, past whatever is damaged in them.

`formats` knows what a batch looks like; this package knows how to get from one to the next where a file cannot be
trusted. Nothing here judges: that is for `checks` and `forecasts`.

- `salvage`: the walk. `walk` gives a `Section` of batches or a `Damage` for every byte of a log, and never raises for damage.
- `items`: `Section` and `Damage`, their statuses, and how a walk went on.
- `trust`: which complete batches are beyond doubt, by the offsets and leader epochs around them.
- `spans`: the span of a damaged batch: its real end if only its length is wrong, and batches inside.
- `search`: the one search of the next intact batch, byte by byte. What counts as a candidate, and its budget, are arguments.
- `headers`: the headers of consecutive batches, with little of the bytes between them.
- `plausible`: whether bytes may be the header of a batch.
- `records`: the records of batches, continuing after those that cannot be read.
- `stretches`: summaries of large stretches of a log.
- `zeros`: where runs of zeros end.
"""
