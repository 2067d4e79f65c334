"""Which decoders the options of Kafka's tool ask for."""

from __future__ import annotations

from kdump.errors import Fault
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.dropin.joptsimple import Arguments
    from kdump.output.kafka.topics.record_decoder import RecordDecoder
    from kdump.releases.profile import Profile

    Decoder = Callable[[bytes], str]

DECODER_CLASSES = ("value-decoder-class", "key-decoder-class")


def decoders_of(
    profile: Profile, arguments: Arguments, text_of: Decoder, write: Callable[[str], object]
) -> tuple[Decoder, Decoder] | RecordDecoder:
    """The decoders for keys and for values, or the one for whole records. Raises Fault where the tool does not find them."""
    for name in history.TOPIC_DECODERS:
        if arguments.has(name):
            from kdump.output.kafka.topics import topic_records

            return topic_records.decoder_of(profile, name)
    if not profile.decoder_classes:
        return text_of, text_of
    value_decoder, key_decoder = (_decoder(profile, arguments.text(name), text_of, write) for name in DECODER_CLASSES)
    return key_decoder, value_decoder


def _decoder(profile: Profile, name: str, text_of: Decoder, write: Callable[[str], object]) -> Decoder:
    kind = profile.decoder_classes.get(name)
    if kind is None:
        code = "decoder-wrong-type" if name.startswith("java.lang.") else "decoder-unknown"
        if name in profile.decoder_interfaces:
            code = "decoder-is-interface"
        raise Fault(code, f"{name} is no decoder; known are {', '.join(profile.decoder_classes)}", name=name)
    if name in profile.deprecated_decoders:
        write(profile.deprecation_line.format(old=name, new=profile.deprecated_decoders[name]))
    if kind == "string":
        return text_of
    from kdump.decoders import plain

    return plain.DECODERS[kind]
