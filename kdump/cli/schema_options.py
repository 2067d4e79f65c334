"""The options that say how keys and values are decoded, and where their schemas are."""

from __future__ import annotations

from kdump.cli.options import FILES, text
from kdump.errors import UsageError
from kdump.schemas.schema import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLAIN = ("string", "integer", "long")
SCHEMAS = tuple(KINDS)
"""Types of schemas; a name may follow, as in `avro:shop.Order`."""

PARTS = (*PLAIN, *SCHEMAS)
"""What keys or values alone can be decoded as."""


def kind_of(option: str, given: str) -> str:
    """The decoder that an option names, without the name of a type after a colon. Raises UsageError."""
    kind, colon, _ = given.partition(":")
    if kind not in (SCHEMAS if colon else PARTS):
        from kdump.schemas import own

        installed = own.names()
        if given not in (own.COMMAND, *installed):
            known = [*PARTS, *(f"{kind}:NAME" for kind in SCHEMAS if kind != "json"), own.COMMAND, *installed]
            raise UsageError(f"{option} is one of {', '.join(known)}, not {given!r}")
    return kind


def _decoder_option(part: str) -> Any:  # as `text`
    return text(
        f"--{part}-decoder",
        f"How to decode {part}s: {', '.join(PARTS)}, or an installed decoder. A type of schemas may have a name, as in"
        " avro:shop.Order. Overrides --decode.",
        metavar="DECODER",
        completes=PARTS,
    )


KEY_DECODER = _decoder_option("key")
VALUE_DECODER = _decoder_option("value")

DECODER_COMMAND = text(
    "--decoder-cmd",
    "Decode keys and values with this command, or only those with --key-decoder cmd or --value-decoder cmd. It reads and writes"
    " lines of JSON.",
    metavar="COMMAND",
)

SCHEMAS_PATH = text(
    "--schemas",
    "Schemas for keys and values: a file, a directory of .avsc, .proto, .json or descriptor files, or a log directory with"
    " _schemas-0. By default, the _schemas-0 beside the data.",
    metavar="PATH",
    completes=FILES,
)
