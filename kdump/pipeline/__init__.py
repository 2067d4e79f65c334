"""Files of a fleet as tables: found, planned as tasks, read into Arrow's record batches. Without Spark."""
