"""Records of internal topics as Kafka's lines show them: as JSON, or as text of releases and topics without JSON."""
