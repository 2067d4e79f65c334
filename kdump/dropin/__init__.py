"""Kafka's tool: its options, its output, where it stops, its exit codes."""
