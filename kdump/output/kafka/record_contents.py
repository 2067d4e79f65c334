"""What a release prints after the fields of a record: its key and value, or what a control record says."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from kdump.errors import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.decoders.plain import Decoder
    from kdump.errors import CorruptData
    from kdump.formats.record import RecordChunk
    from kdump.output.kafka import native_lines
    from kdump.output.kafka.lines import ContentsColumn
    from kdump.output.kafka.topics.record_decoder import Content, RecordDecoder
    from kdump.output.stand_ins import StandIns
    from kdump.releases.profile import Profile

    Rows = Iterator[tuple[int, bytes | None, bytes | None]]

_PAYLOAD_PREFIX = " payload: "
_MOST_REMEMBERED, _MAX_REMEMBERED_SIZE = 1024, 256  # control records, and bytes of such a one


def contents_column(
    profile: Profile,
    decoders: tuple[Decoder, Decoder] | RecordDecoder | None,
    *,
    skips_metadata: bool,
    stand_ins: StandIns | None = None,
) -> ContentsColumn:
    """A function that makes the contents of a chunk's records, given the decoders for keys and values, or one for whole records.

    Without decoders, only control records have contents. With `stand_ins`, the text has tokens for large messages in them.

    The function returns the texts before the first record whose contents cannot be read, and the fault.
    """
    data_text = record_text = None
    if isinstance(decoders, tuple):
        data_text = _data_text(profile, *decoders, skips_metadata)
    elif decoders is not None:
        record_text = _record_text(profile, decoders, skips_metadata)

    def column(chunk: RecordChunk) -> tuple[list[str], Fault | None]:
        texts: list[str] = []
        records = chunk.records
        rows = zip(records["offset"], records["key"], records["value"], strict=True)
        is_control = chunk.batches["is_control"]
        runs = zip(is_control, chunk.counts, strict=True) if True in is_control else ((False, len(records)),)
        for is_control_batch, count in runs:
            append = _append_control if is_control_batch else _append_data
            try:
                append(chunk, texts, islice(rows, count))
            except Fault as fault:
                return texts, fault
        return texts, None

    def _append_data(chunk: RecordChunk, texts: list[str], rows: Rows) -> None:
        if record_text is not None:
            _append_decoded(chunk, texts, rows, record_text)
        elif data_text is None:
            texts += ["" for _ in rows]
        elif not chunk.faults:
            append = texts.append
            for _, key, value in rows:
                append(data_text(key, value))
        else:
            for _, key, value in rows:
                _raise_fault_of(chunk.faults.get(len(texts), {}), profile)
                texts.append(data_text(key, value))

    def _append_decoded(
        chunk: RecordChunk, texts: list[str], rows: Rows, text: Callable[[int, bytes | None, Content], str]
    ) -> None:
        append = texts.append
        if not chunk.faults:
            for offset, key, value in rows:
                append(text(offset, key, value))
            return
        for offset, key, value in rows:
            faults = chunk.faults.get(len(texts), {})
            if faults.keys() - {"value"}:
                _raise_fault_of(faults, profile)
            append(text(offset, key, faults.get("value", value)))

    def _append_control(_chunk: RecordChunk, texts: list[str], rows: Rows) -> None:
        for _, key, value in rows:
            if skips_metadata:
                texts.append("")
            elif len(key or b"") + len(value or b"") > _MAX_REMEMBERED_SIZE:
                texts.append(of_control(key, value))
            else:  # of a payload that grew as it was read they are no bytes
                texts.append(small_control_text(None if key is None else bytes(key), None if value is None else bytes(value)))

    def of_control(key: bytes | None, value: bytes | None) -> str:
        return control_text(key, value, profile, stand_ins)

    small_control_text = lru_cache(_MOST_REMEMBERED)(of_control)  # many say the same
    return column


def content_words(profile: Profile, *, skips_metadata: bool) -> native_lines.ContentWords:
    """The words around keys and values that are printed as text."""
    from kdump.output.kafka import native_lines

    key_prefix, keyless_payload_prefix = _prefixes(profile, skips_metadata)
    return native_lines.ContentWords(
        key_prefix, keyless_payload_prefix, _PAYLOAD_PREFIX, needs_value=not profile.shows_keys_of_null_values
    )


def _prefixes(profile: Profile, skips_metadata: bool) -> tuple[str, str]:
    """The words before a key, and before a payload without a key."""
    has_bar = skips_metadata and profile.skipped_metadata_prefixes_payload
    return "| key: " if skips_metadata else " key: ", "| payload: " if has_bar else _PAYLOAD_PREFIX


def _record_text(profile: Profile, decoder: RecordDecoder, skips_metadata: bool) -> Callable[[int, bytes | None, Content], str]:
    key_prefix, keyless_payload_prefix = _prefixes(profile, skips_metadata)
    decode = decoder.decode

    def text(offset: int, key: bytes | None, value: Content) -> str:
        key_text, payload = decode(offset, key, value)
        if payload is None:
            return "" if key_text is None else key_prefix + key_text
        return keyless_payload_prefix + payload if key_text is None else f"{key_prefix}{key_text}{_PAYLOAD_PREFIX}{payload}"

    return text


def _data_text(
    profile: Profile, key_decoder: Decoder, value_decoder: Decoder, skips_metadata: bool
) -> Callable[[bytes | None, bytes | None], str]:
    needs_value = not profile.shows_keys_of_null_values
    key_prefix, keyless_payload_prefix = _prefixes(profile, skips_metadata)

    def text(key: bytes | None, value: bytes | None) -> str:
        if value is None:
            return "" if needs_value or key is None else key_prefix + key_decoder(key)
        if key is None:
            return keyless_payload_prefix + value_decoder(value)
        return f"{key_prefix}{key_decoder(key)}{_PAYLOAD_PREFIX}{value_decoder(value)}"

    return text


def _raise_fault_of(faults: dict[str, CorruptData], profile: Profile) -> None:
    """Raise the fault of a message's fields that a release meets first when it reads key and value."""
    value_first = ("value_size",) if not profile.shows_keys_of_null_values else ()
    for name in (*value_first, "key", "value"):
        if name in faults:
            raise faults[name]


def control_text(key: bytes | None, value: bytes | None, profile: Profile, stand_ins: StandIns | None = None) -> str:
    """What a release prints after the fields of a control record, with a token for a large message if there are `stand_ins`.

    Raises CorruptData like the functions of `kdump.decoders.control_record`.
    """
    from kdump.decoders import control_record

    type_id = control_record.type_of(key)
    control_type = profile.control_types.get(type_id)
    if control_type is None:
        return f" controlType: UNKNOWN({type_id})"
    if control_type.is_marker:
        epoch = control_record.coordinator_epoch_of(value, checks_size_first=profile.marker_size_is_checked_first)
        return f"{control_type.start(type_id)}{epoch}"
    if control_type.heading and stand_ins is not None and value is not None and len(value) > control_record.LARGE_MESSAGE:
        pieces = control_record.pieces_of(type_id, value, bounds_counts=profile.schemas.bounds_counts)
        return control_type.start(type_id) + stand_ins.add(lambda: pieces)
    if control_type.heading:
        message = control_record.message_of(type_id, value, bounds_counts=profile.schemas.bounds_counts)
        return control_type.start(type_id) + message
    return control_type.start(type_id)
