"""What a release prints behind the fields of a record: its key and value, or what a control record says."""

from __future__ import annotations

from kdump.decoders import control_record
from kdump.errors import CorruptData, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.decoders.plain import Decoder
    from kdump.formats.record import RecordChunk
    from kdump.output.kafka_text import Contents
    from kdump.releases.profile import Profile

    Content = bytes | CorruptData | None


def contents(profile: Profile, decoders: tuple[Decoder, Decoder] | None, *, skips_metadata: bool) -> Contents:
    """The column of contents for a chunk of records, given the decoders for keys and for values.

    Without decoders, only control records have contents.
    """
    data_text = None if decoders is None else _data_text(profile, *decoders, skips_metadata)

    def column(chunk: RecordChunk) -> tuple[list[str], Fault | None]:
        texts: list[str] = []
        keys: Sequence[Content] = chunk.records["key"]
        values: Sequence[Content] = chunk.records["value"]
        is_control = chunk.batches["is_control"]
        try:
            if True not in is_control:
                _append_data(texts, keys, values)
                return texts, None
            end = 0
            for is_control_batch, count in zip(is_control, chunk.counts, strict=True):
                start, end = end, end + count
                if is_control_batch:
                    _append_control(texts, keys[start:end], values[start:end])
                else:
                    _append_data(texts, keys[start:end], values[start:end])
        except Fault as fault:
            return texts, fault
        return texts, None

    def _append_data(texts: list[str], keys: Sequence[Content], values: Sequence[Content]) -> None:
        if data_text is None:
            texts += [""] * len(keys)
        else:
            for key, value in zip(keys, values, strict=True):
                texts.append(data_text(key, value))

    def _append_control(texts: list[str], keys: Sequence[Content], values: Sequence[Content]) -> None:
        for key, value in zip(keys, values, strict=True):
            texts.append("" if skips_metadata else control_record.text_of(_sound(key), _sound(value), profile))

    return column


def _data_text(
    profile: Profile, key_decoder: Decoder, value_decoder: Decoder, skips_metadata: bool
) -> Callable[[Content, Content], str]:
    needs_value = not profile.shows_keys_of_null_values
    key_prefix = "| key: " if skips_metadata else " key: "
    lone_payload_prefix = "| payload: " if skips_metadata and profile.skipped_metadata_prefixes_payload else " payload: "

    def text(key: Content, value: Content) -> str:
        if value is None:
            return "" if needs_value or key is None else key_prefix + key_decoder(_sound_bytes(key))
        if key is None:
            return lone_payload_prefix + value_decoder(_sound_bytes(value))
        return f"{key_prefix}{key_decoder(_sound_bytes(key))} payload: {value_decoder(_sound_bytes(value))}"

    return text


def _sound(content: Content) -> bytes | None:
    if isinstance(content, CorruptData):
        raise content
    return content


def _sound_bytes(content: bytes | CorruptData) -> bytes:
    if isinstance(content, CorruptData):
        raise content
    return content
