"""Tables for Arrow: schemas made from the row classes, and record batches (`pa.RecordBatch`) made from our columns."""
