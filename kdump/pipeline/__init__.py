"""Files of a fleet as tables: found, planned as pieces of work, read into Arrow's record batches. Without Spark."""
