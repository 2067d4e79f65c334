"""Tables as Arrow's: schemas from the row classes, and record batches (`pa.RecordBatch`) straight from our columns."""
