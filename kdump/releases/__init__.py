"""The wording and behaviour of each release of Kafka's tool, from one history."""
