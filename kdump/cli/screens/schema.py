"""The command `kdump schema`: the JSON Schemas of rows."""

from __future__ import annotations

import json

from kdump.errors import UsageError
from kdump.output import schemas


def print_schema(name: str | None) -> int:
    """Print the JSON Schema of a kind of row, or without a name all kinds. Raises UsageError for one that does not exist."""
    if name is None:
        print("\n".join(schemas.ROWS))
    elif name in schemas.ROWS:
        print(json.dumps(schemas.schema_of(name), indent=2))
    else:
        raise UsageError(f"there is no schema {name}", remedy=f"there are {', '.join(schemas.ROWS)}")
    return 0
