"""Keys and values that have a schema: schema registries, Avro, Protobuf and JSON, with bounds on what any of them may cost."""
