"""Kafka's tool before 0.11: it reads logs message by message, and compares indexes with them in another way."""
