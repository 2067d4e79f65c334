"""What official deserializers make of the keys and values of topics, beside the topics of two schema registries.

`recorded.tar.xz` holds the segments of log directories of a broker of 4.3.1. Their records were written by the official Python
serializers (Avro, Protobuf, JSON Schema) with Confluent's registry 8.5 (`schemas-a`) and with Karapace 6.0 (`schemas-b`), whose
topic `_schemas-0` is beside them; `-compacted` are the same after the cleaner. `recorded.jsonl.xz` has a line for each key and
value: where it is, the options that it needs, how it is framed, the schema that the registry gave for it, and what the official
deserializer returned, in the JSON form that docs/schemas.md describes, or which error it raised.
"""

import json
import lzma
import tarfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from tools import archives

_HERE = Path(__file__).parent

Answer = dict[str, Any]  # what json.loads makes of a line
Question = tuple[str, str, tuple[str, ...]]  # log directory, partition, options

_OPTIONS = {"--key": "--key-decoder", "--value": "--value-decoder"}  # as they were called when this was recorded


def unpack(folder: Path) -> None:
    """Write the log directories into a folder."""
    with tarfile.open(_HERE / "recorded.tar.xz") as archive:
        archives.unpack(archive, folder)


def answers() -> dict[Question, list[Answer]]:
    found: dict[Question, list[Answer]] = defaultdict(list)
    for line in lzma.decompress((_HERE / "recorded.jsonl.xz").read_bytes()).splitlines():
        answer = json.loads(line)
        options = tuple(_OPTIONS.get(word, word) for word in answer["args"])
        found[answer["case"], f"{answer['topic']}-{answer['partition']}", options].append(answer)
    return found


def has_schema(answer: Answer) -> bool:
    """Whether a key or value has a schema: it is neither null nor plain bytes."""
    return not answer.get("null") and answer["framing"] is not None


def expected_schema(answer: Answer) -> Answer | None:
    """What a row says about the schema; the type does not matter where there is an error."""
    if not has_schema(answer):
        return None
    names = {"framing": "framing", "id": "schemaId", "guid": "guid", "message": "messageName", "subjects": "subjects"}
    names |= {"state": "state", "error": "error"}
    schema = {name: answer.get(recorded) for name, recorded in names.items()}
    return schema if "error" in answer else schema | {"type": answer["schemaType"]}
