"""Random Avro schemas and values are decoded as fastavro decodes them; fingerprints are the same, too."""

import io
import json
import random
from typing import Any

import pytest

from kdump.schemas import avro_types
from kdump.schemas.avro import AvroDecoder
from tests.loops import each
from tests.schemas.test_avro_values import for_json

fastavro = pytest.importorskip("fastavro")
utils = pytest.importorskip("fastavro.utils")

_LEAVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string", "enum", "fixed")
_CONTAINERS = ("array", "map", "union", "record")


class _Schemas:
    """Random schemas without logical types, whose values fastavro can generate."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0

    def type(self, depth: int = 0) -> Any:
        kind = self._random.choice(_LEAVES if depth > 3 else (*_LEAVES, *_CONTAINERS * 2))
        self._count += 1
        named = {"type": kind, "name": f"T{self._count}", "namespace": self._random.choice(["", "a.b"])}
        if kind == "enum":
            return {**named, "symbols": ["A", "B", f"C{self._count}"]}
        if kind == "fixed":
            return {**named, "size": self._random.randint(0, 20)}
        if kind == "record":
            return {
                **named,
                "fields": [{"name": f"f{n}", "type": self.type(depth + 1)} for n in range(self._random.randint(0, 5))],
            }
        if kind == "union":
            other = self.type(depth + 1)
            return ["null"] if other == "null" or isinstance(other, list) else ["null", other]
        if kind in ("array", "map"):
            return {"type": kind, "items" if kind == "array" else "values": self.type(depth + 1)}
        return kind


@each("seed", range(60))
def test_values_are_decoded_and_schemas_identified_as_fastavro_does(seed: int) -> None:
    text = json.dumps(_Schemas(seed).type())
    schema = fastavro.parse_schema(json.loads(text))
    decoder = AvroDecoder(avro_types.parsed(text))
    for _ in range(5):
        written = io.BytesIO()
        fastavro.schemaless_writer(written, schema, utils.generate_one(schema))
        expected = for_json(fastavro.schemaless_reader(io.BytesIO(written.getvalue()), schema))
        assert json.dumps(decoder.decode(written.getvalue())) == json.dumps(expected), text
    form = fastavro.schema.to_parsing_canonical_form(json.loads(text))
    assert avro_types.fingerprint(text).hex() == fastavro.schema.fingerprint(form, "CRC-64-AVRO")
