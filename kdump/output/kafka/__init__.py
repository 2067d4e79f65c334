"""Kafka's own lines and reports, in the words of one release."""
