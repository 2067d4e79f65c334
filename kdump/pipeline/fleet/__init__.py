"""What only many brokers show: questions to their tables, written once, asked of Spark or of SQLite."""
