"""Whose words: what each release of Kafka's tool prints, and how it behaves, out of one history."""
