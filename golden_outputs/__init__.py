"""The recorded output of Kafka's tool, with which kdump is compared."""
