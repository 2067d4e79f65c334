"""Kafka's message schemas as data, a generic reader, and Kafka's JSON format."""
