"""Dumps logs (`.log`, `.checkpoint`): batch lines and record lines."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.binary.java_text import text_of
from kdump.cli.dropin.tool import absolute
from kdump.errors import CorruptData, Fault
from kdump.formats import file_name
from kdump.formats.log import Log
from kdump.formats.record_batch import as_int64
from kdump.output.kafka_text import interleaved
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.binary.source import Source
    from kdump.cli.dropin.tool import DumpTool
    from kdump.cli.joptsimple import Arguments
    from kdump.formats.record import RecordChunk
    from kdump.output.contents import Contents
    from kdump.output.kernel_text import Complain, KernelText, Write
    from kdump.output.kernel_text import Contents as KernelContents
    from kdump.output.topics import RecordDecoder

    Decoder = Callable[[bytes], str]

_DECODER_CLASSES = ("value-decoder-class", "key-decoder-class")


def dump(tool: DumpTool, path: str, name: str, arguments: Arguments) -> None:
    """Dump one log, up to its end or to where the tool throws. Raises Fault there."""
    if tool.profile.max_message_size_is_read_everywhere:
        arguments.number("max-message-size")
    decoders = decoders_of(tool, arguments)
    max_bytes = arguments.number("max-bytes") if "max-bytes" in tool.profile.options else history.MAX_INT
    tool.out.write(_heading(tool, name) + "\n")
    is_deep = arguments.has("deep-iteration") or tool.profile.print_data_log_is_deep and prints_data(tool, arguments)
    with tool.open(path) as source:
        if max_bytes < 0:
            raise tool.with_records(CorruptData("size-negative", "", path=path, size=max_bytes), source)
        shows_batches = not is_deep or tool.profile.deep_shows_batches
        log = Log(source, end=max_bytes, rules=tool.rules if shows_batches else tool.record_rules)
        try:
            if is_deep:
                _dump_records(tool, source, log, decoders if prints_data(tool, arguments) else None, arguments)
            else:
                kernel_text = _kernel_text(tool, source, shows_batches=True, shows_records=False)
                for chunk in log.chunks(kernel_text):
                    tool.out.write("".join(tool.text.batch_lines(chunk.batches)))
        except CorruptData as fault:
            if shows_batches and fault.row is not None:  # what the tool had written of a line before it threw
                tool.out.write(tool.text.partial_batch_line(fault.row, fault.through))
            raise tool.with_records(fault, source)
        trailing = source.size - log.position
        if trailing > 0 and max_bytes == history.MAX_INT:
            tool.out.write(f"Found {trailing} invalid bytes at the end of {name}\n")


def decoders_of(tool: DumpTool, arguments: Arguments) -> tuple[Decoder, Decoder] | RecordDecoder:
    """The decoders for keys and for values, or the one for whole records. Raises Fault where the tool does not find them."""
    for name in history.TOPIC_DECODERS:
        if arguments.has(name):
            from kdump.output import topics

            return topics.decoder_of(tool.profile, name)
    if not tool.profile.decoder_classes:
        return tool.text_of, tool.text_of
    value_decoder, key_decoder = (_decoder(tool, arguments.text(name)) for name in _DECODER_CLASSES)
    return key_decoder, value_decoder


def _decoder(tool: DumpTool, name: str) -> Decoder:
    kind = tool.profile.decoder_classes.get(name)
    if kind is None:
        code = "decoder-wrong-type" if name.startswith("java.lang.") else "decoder-unknown"
        if name in tool.profile.decoder_interfaces:
            code = "decoder-is-interface"
        raise Fault(code, f"{name} is no decoder; known are {', '.join(tool.profile.decoder_classes)}", name=name)
    if name in tool.profile.deprecated_decoders:
        tool.out.write(tool.profile.deprecation_line.format(old=name, new=tool.profile.deprecated_decoders[name]))
    if kind == "string":
        return tool.text_of
    from kdump.decoders import plain

    return plain.DECODERS[kind]


def prints_data(tool: DumpTool, arguments: Arguments) -> bool:
    """Whether keys and values are asked for."""
    implied = (*history.TOPIC_DECODERS, *_DECODER_CLASSES) if tool.profile.decoders_print_data else ()
    return any(arguments.has(name) for name in ("print-data-log", *implied))


def _heading(tool: DumpTool, name: str) -> str:
    if name.endswith(file_name.LOG):
        return tool.profile.log_heading.format(offset=file_name.base_offset(name))
    if name == file_name.BOOTSTRAP_CHECKPOINT:
        return "KRaft bootstrap snapshot"
    offset, epoch = file_name.snapshot_id(name)
    return f"Snapshot end offset: {offset}, epoch: {epoch}"


def _dump_records(
    tool: DumpTool, source: Source, log: Log, decoders: tuple[Decoder, Decoder] | RecordDecoder | None, arguments: Arguments
) -> None:
    from kdump.formats import records
    from kdump.output.contents import contents, kernel_contents

    skips_metadata = arguments.has("skip-record-metadata")
    contents_of = contents(tool.profile, decoders, skips_metadata=skips_metadata)
    path = absolute(source.path)
    kernel_text = None
    if decoders is None or decoders == (text_of, text_of):
        shown = kernel_contents(tool.profile, skips_metadata=skips_metadata) if decoders else None
        kernel_text = _kernel_text(
            tool,
            source,
            shows_batches=tool.profile.deep_shows_batches,
            shows_records=True,
            contents=shown,
            skips_metadata=skips_metadata,
        )
    previous = -1
    for chunk in log.chunks(kernel_text):
        if kernel_text is not None:
            previous = kernel_text.previous_offset
        parts = records.read(source, chunk, tool.record_rules.frames, with_data=decoders is not None, with_header_values=False)
        for part in parts:
            offsets = part.records["offset"]
            if offsets:
                _check_consecutive(tool, path, previous, offsets)
                previous = offsets[-1]
            _write_records(tool, part, contents_of, skips_metadata)
        if kernel_text is not None:
            kernel_text.previous_offset = previous


def _kernel_text(
    tool: DumpTool,
    source: Source,
    *,
    shows_batches: bool,
    shows_records: bool,
    contents: KernelContents | None = None,
    skips_metadata: bool = False,
) -> KernelText | None:
    """What the kernel in C shows of this log, where it is there and the output is as it stands in Kafka's words."""
    if kernel.native is None or tool.is_terminal:
        return None
    from kdump.output.kernel_text import WORTH_THREADS, KernelText

    path = absolute(source.path)

    def complain(previous: int, offset: int) -> None:
        tool.complain(history.NON_CONSECUTIVE, path, previous, offset)

    def text(write: Write, complain: Complain, out: bytearray | None = None) -> KernelText:
        return KernelText(
            tool.profile,
            write,
            complain,
            codec_count=tool.rules.codec_count,
            shows_batches=shows_batches,
            shows_records=shows_records,
            contents=contents,
            skips_metadata=skips_metadata,
            out=out,
        )

    kernel_text = text(tool.out.write_bytes, complain)
    if source.manners is None:
        kernel_text.source = source
    if source.size >= WORTH_THREADS and tool.jobs != 1 and source.manners is None:
        from kdump.output import parallel

        jobs = tool.jobs or parallel.jobs_here()
        tool.buffers = tool.buffers or parallel.Buffers()
        if jobs > 1:
            kernel_text.parallel = parallel.ParallelText(
                source,
                text,
                tool.out.write_bytes,
                complain,
                jobs=jobs,
                checks_first_offset=tool.profile.checks_first_offset,
                buffers=tool.buffers,
            )
    return kernel_text


def _write_records(tool: DumpTool, part: RecordChunk, contents_of: Contents, skips_metadata: bool) -> None:
    lines: list[str] = []
    is_whole = False
    try:
        tool.text.record_lines(part, contents_of, skips_metadata, lines)
        is_whole = True
    finally:
        if tool.profile.deep_shows_batches:
            lines = interleaved(tool.text.batch_lines(part.batches), part, lines, is_whole=is_whole)
        tool.out.write("".join(lines))


def _check_consecutive(tool: DumpTool, path: str, previous: int, offsets: Sequence[int]) -> None:
    checks_first = tool.profile.checks_first_offset
    if previous == -1 and not checks_first:
        previous = offsets[0] - 1
    if offsets[0] == previous + 1 and offsets == list(range(previous + 1, previous + 1 + len(offsets))):
        return
    for offset in offsets:
        if offset != as_int64(previous + 1) and (previous != -1 or checks_first):
            tool.complain(history.NON_CONSECUTIVE, path, previous, offset)
        previous = offset
