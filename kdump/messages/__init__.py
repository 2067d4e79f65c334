"""Kafka's message schemas as data, one generic reader, and Kafka's JSON form of what it reads."""
