"""What is printed: Kafka's lines, rows for programs, reports for people."""
