"""Questions about a fleet that need the tables of many brokers: SQL written once, for Spark and for DuckDB."""
