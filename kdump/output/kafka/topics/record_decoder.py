"""The types of decoders of whole records."""

from __future__ import annotations

from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.errors import CorruptData
    from kdump.output.kafka.topics.regular_records import RegularRecords

    KeyAndPayload = tuple[str | None, str | None]
    Content = bytes | CorruptData | None
    """A value, or the fault that prevents reading it: it is raised when a decoder asks for the value."""

    Decode = Callable[[int, bytes | None, Content], KeyAndPayload]
    """From the offset, key and value of a record to the texts of key and payload, None where there is nothing to show."""


class RecordDecoder(Declared):
    """A decoder of whole records. The kernel in C may print those that `regular` describes."""

    decode: Decode
    regular: RegularRecords | None = None
