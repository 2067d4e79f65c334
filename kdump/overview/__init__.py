"""What is there, at a glance: the sums of logs, partitions and log directories that reports for people stand on."""
