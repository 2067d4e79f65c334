"""The speed of kdump compared with Kafka's tool and with the limits of the machine."""
