"""Dumps logs (`.log`, `.checkpoint`): batch lines and record lines."""

from __future__ import annotations

from kdump.binary import kernel
from kdump.binary.arithmetic import as_int64
from kdump.binary.java_strings import text_of
from kdump.dropin.decoders import DECODER_CLASSES, decoders_of
from kdump.dropin.tool import absolute
from kdump.errors import CorruptData
from kdump.formats import file_name
from kdump.formats.log import Log
from kdump.output.kafka.lines import interleaved
from kdump.releases import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.binary.source import Source
    from kdump.dropin.joptsimple import Arguments
    from kdump.dropin.parallel_text import Outlet
    from kdump.dropin.tool import DumpTool
    from kdump.dropin.tuning import Tuning
    from kdump.formats.log import BulkRenderer, Chunk, LogRules
    from kdump.formats.record import RecordChunk
    from kdump.output.blocks import Blocks
    from kdump.output.kafka.lines import ContentsColumn
    from kdump.output.kafka.native_lines import Complain, ContentWords, KernelPlan, KernelText
    from kdump.output.kafka.topics.record_decoder import RecordDecoder
    from kdump.output.kafka.topics.regular_records import RegularRecords
    from kdump.output.stand_ins import StandIns

    Decoder = Callable[[bytes], str]
    Out = Blocks | Outlet
    Maker = Callable[[Out, Complain], "_BatchText | _RecordText"]


def dump(tool: DumpTool, path: str, name: str, arguments: Arguments) -> None:
    """Dump one log, up to its end or to where the tool throws. Raises Fault there."""
    if tool.profile.max_message_size_is_read_everywhere:
        arguments.number("max-message-size")
    decoders = decoders_of(tool.profile, arguments, tool.text_of, tool.out.write)
    max_bytes = arguments.number("max-bytes") if "max-bytes" in tool.profile.options else history.MAX_INT
    tool.out.write(_heading(tool, name) + "\n")
    is_deep = arguments.has("deep-iteration") or tool.profile.print_data_log_is_deep and prints_data(tool, arguments)
    with tool.open(path) as source:
        if max_bytes < 0:
            raise tool.with_records(CorruptData("size-negative", "", path=path, size=max_bytes), source)
        shows_batches = not is_deep or tool.profile.deep_shows_batches
        rules = tool.rules if shows_batches else tool.record_rules
        log = Log(source, end=max_bytes, rules=rules, max_window_size=tool.tuning.window_bytes)
        if is_deep:
            make = _maker_of_records(tool, source, decoders if prints_data(tool, arguments) else None, arguments)
        else:
            make = _maker_of_batches(tool)
        text = make(tool.out, _complain(tool, source))
        try:
            for chunk in log.chunks(text.kernel, _bulk_renderer(tool, source, rules, make, text, is_deep=is_deep)):
                text.show(chunk)
        except CorruptData as fault:
            if shows_batches and fault.row is not None:  # what the tool had written of a line before it threw
                tool.out.write(tool.text.partial_batch_line(fault.row, fault.through))
            raise tool.with_records(fault, source)
        trailing = source.size - log.position
        if trailing > 0 and max_bytes == history.MAX_INT:
            tool.out.write(f"Found {trailing} invalid bytes at the end of {tool.shown(name)}\n")


def prints_data(tool: DumpTool, arguments: Arguments) -> bool:
    """Whether keys and values are asked for."""
    implied = (*history.TOPIC_DECODERS, *DECODER_CLASSES) if tool.profile.decoders_print_data else ()
    return any(arguments.has(name) for name in ("print-data-log", *implied))


def _heading(tool: DumpTool, name: str) -> str:
    if name.endswith(file_name.LOG):
        return tool.profile.log_heading.format(offset=file_name.base_offset(name))
    if name == file_name.BOOTSTRAP_CHECKPOINT:
        return "KRaft bootstrap snapshot"
    offset, epoch = file_name.snapshot_id(name)
    return f"Snapshot end offset: {offset}, epoch: {epoch}"


class _LogText:
    """Writes a log's lines: regular batches with the kernel in C if it was built, all others by way of tables."""

    def __init__(self, tool: DumpTool, out: Out, complain: Complain, kernel_text: KernelText | None) -> None:
        self.kernel = kernel_text
        self._tool = tool
        self._out = out
        self._complain = complain
        self._previous_offset = -1

    @property
    def previous_offset(self) -> int:
        """The offset of the last record, -1 if there was none."""
        return self._previous_offset if self.kernel is None else self.kernel.previous_offset

    @previous_offset.setter
    def previous_offset(self, offset: int) -> None:
        if self.kernel is None:
            self._previous_offset = offset
        else:
            self.kernel.previous_offset = offset


class _BatchText(_LogText):
    """Writes lines of batches."""

    def show(self, chunk: Chunk) -> None:
        """Write the lines of a chunk."""
        self._out.write("".join(self._tool.text.batch_lines(chunk.batches)))


class _RecordText(_LogText):
    """Writes lines of records, and those of their batches where the release has them."""

    def __init__(
        self,
        tool: DumpTool,
        out: Out,
        complain: Complain,
        kernel_text: KernelText | None,
        source: Source,
        contents_of: ContentsColumn,
        stand_ins: StandIns,
        *,
        skips_metadata: bool,
        with_data: bool,
    ) -> None:
        super().__init__(tool, out, complain, kernel_text)
        self._source = source
        self._contents_of = contents_of
        self._stand_ins = stand_ins
        self._skips_metadata = skips_metadata
        self._with_data = with_data

    def show(self, chunk: Chunk) -> None:
        """Write the lines of a chunk, up to where the tool throws. Raises Fault there."""
        from kdump.formats import records

        previous = self.previous_offset
        quirks = self._tool.record_rules.quirks
        for part in records.read(self._source, chunk, quirks, with_data=self._with_data, with_header_values=False):
            offsets = part.records["offset"]
            if offsets:
                self._check_consecutive(previous, offsets)
                previous = offsets[-1]
            self._write(part)
        self.previous_offset = previous

    def _write(self, part: RecordChunk) -> None:
        text = self._tool.text
        lines: list[str] = []
        is_whole = False
        try:
            text.record_lines(part, self._contents_of, self._skips_metadata, lines)
            is_whole = True
        finally:
            if self._tool.profile.deep_shows_batches:
                lines = interleaved(text.batch_lines(part.batches), part, lines, is_whole=is_whole)
            self._stand_ins.write("".join(lines), self._out.write)

    def _check_consecutive(self, previous: int, offsets: Sequence[int]) -> None:
        checks_first = self._tool.profile.checks_first_offset
        if previous == -1 and not checks_first:
            previous = offsets[0] - 1
        if offsets[0] == previous + 1 and offsets == list(range(previous + 1, previous + 1 + len(offsets))):
            return
        for offset in offsets:
            if offset != as_int64(previous + 1) and (previous != -1 or checks_first):
                self._complain(previous, offset)
            previous = offset


def _complain(tool: DumpTool, source: Source) -> Complain:
    path = absolute(source.path)

    def complain(previous: int, offset: int) -> None:
        tool.complain(history.NON_CONSECUTIVE, path, previous, offset)

    return complain


def _maker_of_batches(tool: DumpTool) -> Maker:
    plan = _kernel_plan(tool, shows_batches=True, shows_records=False)

    def make(out: Out, complain: Complain) -> _BatchText:
        return _BatchText(tool, out, complain, _kernel_text(plan, out, complain, tool.tuning))

    return make


def _maker_of_records(
    tool: DumpTool, source: Source, decoders: tuple[Decoder, Decoder] | RecordDecoder | None, arguments: Arguments
) -> Maker:
    from kdump.output.kafka.record_contents import content_words, contents_column
    from kdump.output.stand_ins import StandIns

    skips_metadata = arguments.has("skip-record-metadata")
    stand_ins = StandIns(tool.shown)
    contents_of = contents_column(tool.profile, decoders, skips_metadata=skips_metadata, stand_ins=stand_ins)
    is_plain = decoders is None or decoders == (text_of, text_of)
    regular = None if decoders is None or isinstance(decoders, tuple) else decoders.regular
    shown = content_words(tool.profile, skips_metadata=skips_metadata) if decoders and (is_plain or regular) else None

    plan = None
    if is_plain or regular is not None:
        plan = _kernel_plan(
            tool,
            shows_batches=tool.profile.deep_shows_batches,
            shows_records=True,
            contents=shown,
            regular=regular,
            skips_metadata=skips_metadata,
        )

    def make(out: Out, complain: Complain) -> _RecordText:
        return _RecordText(
            tool,
            out,
            complain,
            _kernel_text(plan, out, complain, tool.tuning),
            source,
            contents_of,
            stand_ins,
            skips_metadata=skips_metadata,
            with_data=decoders is not None,
        )

    return make


def _kernel_plan(
    tool: DumpTool,
    *,
    shows_batches: bool,
    shows_records: bool,
    contents: ContentWords | None = None,
    regular: RegularRecords | None = None,
    skips_metadata: bool = False,
) -> KernelPlan | None:
    """The plan for the kernel in C, or None if it was not built or the output is for a terminal."""
    if kernel.native is None or tool.is_terminal:
        return None
    from kdump.output.kafka.native_lines import KernelPlan

    return KernelPlan(
        tool.profile,
        codec_count=tool.rules.codec_count,
        shows_batches=shows_batches,
        shows_records=shows_records,
        contents=contents,
        regular=regular,
        skips_metadata=skips_metadata,
        tuning=tool.tuning.text,
    )


def _kernel_text(plan: KernelPlan | None, out: Out, complain: Complain, tuning: Tuning) -> KernelText | None:
    """The writer of lines for a plan, or None without a plan."""
    if plan is None:
        return None
    from kdump.output.kafka.native_lines import KernelText

    return KernelText(plan.compiled, out.write_bytes, complain, tuning.text)


def _bulk_renderer(
    tool: DumpTool, source: Source, rules: LogRules, make: Maker, text: _BatchText | _RecordText, *, is_deep: bool
) -> BulkRenderer | None:
    """The renderer of large parts of a log: several processes if that pays, or the kernel in C."""
    own = text.kernel.bulk_renderer(source) if text.kernel is not None and source.is_direct else None
    if source.size < tool.tuning.min_jobs_bytes or tool.jobs == 1 or tool.is_terminal or not source.is_direct:
        return own
    from kdump.dropin import parallel_text
    from kdump.workers.cores import jobs_here
    from kdump.workers.process import can_fork

    jobs = tool.jobs or jobs_here()
    if jobs == 1 or not can_fork():
        return own
    several = parallel_text.ParallelLog(
        source,
        lambda outlet: make(outlet, outlet.complain),
        tool.out,
        _complain(tool, source),
        jobs=jobs,
        rules=rules,
        is_deep=is_deep,
        checks_first_offset=tool.profile.checks_first_offset,
        max_window_size=tool.tuning.window_bytes,
        tuning=tool.tuning.parallel,
    )

    def render(position: int, stop: int, end: int) -> int:
        if several.is_worth_while(position, stop):
            return several.show_log(text, position, stop)
        return own(position, stop, end) if own is not None else position

    return render
