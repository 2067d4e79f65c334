"""Tables as rows for programs and people: NDJSON, JSON, CSV, aligned columns; and the schemas of these rows."""
