"""Values of each type of Avro and Protobuf, headers and registries: what becomes of them, one by one."""
