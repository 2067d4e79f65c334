"""How fast kdump is, next to Kafka's own tool and to what is physically possible."""
