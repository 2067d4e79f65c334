"""What Kafka's own tool printed, kept to compare kdump with."""
