"""One release of Kafka's tool: the history at that release."""

from __future__ import annotations

from kdump.releases import history
from kdump.releases.known import require_known
from kdump.releases.timeline import History

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.binary.codecs.quirks import CodecQuirks
    from kdump.releases.decoder_words import DecoderWords
    from kdump.releases.exception_texts import Words
    from kdump.releases.history import ControlType, Option
    from kdump.releases.message_rules import MessageRules
    from kdump.releases.schemas import KnownSchemas


class Profile:
    """The output and behaviour of one release. Code that uses a profile never tests for the release."""

    def __init__(self, release: str) -> None:
        then = History(release)
        self.release = release
        self._then = then
        self._decoder_words: DecoderWords | None = None

        self.options: Mapping[str, Option] = {option.name: option for option in history.OPTIONS if then.find(option.texts)}
        self.usage = then.at(history.USAGE)
        version_text = then.at(history.VERSION_TEXT) if "version" in self.options else ""
        self.version_text = version_text.format(release=release, commit=history.COMMITS.get(release, ""))
        self.help_columns = then.at(history.HELP_COLUMNS)
        self.help_names_strings = then.at(history.HELP_NAMES_STRINGS)
        self.accepts_abbreviations = then.at(history.ACCEPTS_ABBREVIATIONS)
        self.takes_empty_values = then.at(history.TAKES_EMPTY_VALUES)
        self.converts_values_lazily = then.at(history.CONVERTS_VALUES_LAZILY)
        self.max_message_size_is_read_everywhere = then.at(history.MAX_MESSAGE_SIZE_IS_READ_EVERYWHERE)
        self.print_data_log_is_deep = then.at(history.PRINT_DATA_LOG_IS_DEEP)
        self.topic_decoders = tuple(name for name in history.TOPIC_DECODERS if name in self.options)
        self.decoder_classes = then.at(history.DECODER_CLASSES)
        self.decoder_interfaces = then.at(history.DECODER_INTERFACES)
        self.deprecated_decoders = then.at(history.DEPRECATED_DECODERS)
        self.deprecation_line = then.at(history.DEPRECATION_LINE)

        self.suffixes = tuple(suffix for suffix, since in history.SUFFIXES.items() if then.has_reached(since))
        self.opens_directories = then.at(history.OPENS_DIRECTORIES)
        self.ignores_names_without_dot = then.at(history.IGNORES_NAMES_WITHOUT_DOT)

        self.log_heading = then.at(history.LOG_HEADING)
        self.batch_line = then.line(history.BATCH_LINE)
        self.message_line = then.line(history.MESSAGE_LINE)
        self.batch_record_line = then.line(history.BATCH_RECORD_LINE)
        self.message_record_line = then.line(history.MESSAGE_RECORD_LINE)
        self.codec_names = then.at(history.CODEC_NAMES)
        self.deep_shows_batches = then.at(history.DEEP_SHOWS_BATCHES)
        self.shows_keys_of_null_values = then.at(history.SHOWS_KEYS_OF_NULL_VALUES)
        self.skipped_metadata_prefixes_payload = then.at(history.SKIPPED_METADATA_PREFIXES_PAYLOAD)
        self.control_types: Mapping[int, ControlType] = then.at(history.CONTROL_TYPES)
        self.checks_header_count = then.at(history.CHECKS_HEADER_COUNT)
        self.decompressed_in_blocks = then.at(history.DECOMPRESSED_IN_BLOCKS)
        self.marker_size_is_checked_first = then.at(history.MARKER_SIZE_IS_CHECKED_FIRST)
        self.checks_first_offset = then.at(history.CHECKS_FIRST_OFFSET)
        self.fails_on_length_overflow = then.at(history.FAILS_ON_LENGTH_OVERFLOW)

        self.index_line = then.at(history.INDEX_LINE)
        self.index_names_empty = then.at(history.INDEX_NAMES_EMPTY)
        self.index_compares_first_record = then.at(history.INDEX_COMPARES_FIRST_RECORD)
        self.index_checks_zero_entry = then.at(history.INDEX_CHECKS_ZERO_ENTRY)
        self.index_lookup_tries_end_first = then.at(history.INDEX_LOOKUP_TRIES_END_FIRST)
        self.sanity_allows_base_offset = then.at(history.SANITY_ALLOWS_BASE_OFFSET)
        self.sanity_line = then.at(history.SANITY_LINE)

        self.time_index_line = then.at(history.TIME_INDEX_LINE)
        self.time_index_checks_zero_entry = then.at(history.TIME_INDEX_CHECKS_ZERO_ENTRY)
        self.slice_may_start_past_end = then.at(history.SLICE_MAY_START_PAST_END)
        self.time_index_reads_to_end = then.at(history.TIME_INDEX_READS_TO_END)

        self.transaction_line = then.line(history.TRANSACTION_LINE)
        self.transaction_version_is_a_byte = then.at(history.TRANSACTION_VERSION_IS_A_BYTE)
        self.snapshot_line = then.line(history.SNAPSHOT_LINE)
        self.snapshot_batch_part = then.line(history.SNAPSHOT_BATCH_PART)
        self.snapshot_omits_unknown_batch = then.at(history.SNAPSHOT_OMITS_UNKNOWN_BATCH)
        self.snapshot_version_is_checked_first = then.at(history.SNAPSHOT_VERSION_IS_CHECKED_FIRST)
        self.snapshot_wraps_sequence = then.at(history.SNAPSHOT_WRAPS_SEQUENCE)
        self.optional_long = then.at(history.OPTIONAL_LONG)

        self.report_titles = then.at(history.REPORT_TITLES)
        self.report_order = then.at(history.REPORT_ORDER)
        self.report_pairs = then.at(history.REPORT_PAIRS)

        self.knows_messages_only = then.at(history.KNOWS_MESSAGES_ONLY)
        self.log_message_line = then.line(history.LOG_MESSAGE_LINE)
        self.key_size_part = then.at(history.KEY_SIZE_PART)
        self.null_values = then.at(history.NULL_VALUES)
        self.decoders_print_data = then.at(history.DECODERS_PRINT_DATA)
        self.ignores_unknown_files_silently = then.at(history.IGNORES_UNKNOWN_FILES_SILENTLY)
        self.creates_missing_logs = then.at(history.CREATES_MISSING_LOGS)
        self.siblings_share_path = then.at(history.SIBLINGS_SHARE_PATH)
        self.reports_bare_names = then.at(history.REPORTS_BARE_NAMES)
        self.index_size_is_checked = then.at(history.INDEX_SIZE_IS_CHECKED)
        self.limits_message_size = then.at(history.LIMITS_MESSAGE_SIZE)

    def message_rules(self) -> MessageRules | None:
        """What the tool accepts as valid in logs, if it knows only messages."""
        if not self.knows_messages_only:
            return None
        from kdump.binary.codecs.quirks import CodecQuirks
        from kdump.releases.message_rules import MessageRules  # only old releases need it

        at = self._then.at
        return MessageRules(
            knows_timestamps=at(history.KNOWS_TIMESTAMPS),
            codec_mask=at(history.CODEC_MASK),
            codec_count=len(self.codec_names),
            ends=at(history.MESSAGES_END),
            checks_size_first=at(history.CHECKS_MESSAGE_SIZE_FIRST),
            unwraps=at(history.UNWRAPS),
            wants_equal_magic=at(history.WANTS_EQUAL_MAGIC),
            refuses_nested=at(history.REFUSES_NESTED_WRAPPERS),
            ignores_early_end=at(history.IGNORES_EARLY_END),
            checks_slices=at(history.SLICES_ARE_CHECKED),
            slices_overflow=at(history.SLICES_OVERFLOW),
            quirks=CodecQuirks(
                lz4_is_padded=at(history.LZ4_IS_PADDED), lz4_is_plain=at(history.LZ4_IS_PLAIN), xerial=at(history.XERIAL)
            ),
            wrappers_give_timestamp_type=at(history.WRAPPERS_GIVE_TIMESTAMP_TYPE),
        )

    def codec_quirks_of_batches(self) -> CodecQuirks | None:
        """How the tool decompresses batches, if different from the newest release."""
        at = self._then.at
        by_record = "zstd" not in self.decompressed_in_blocks
        wants_whole_magic = at(history.ZSTD_WANTS_WHOLE_MAGIC)
        if not by_record and not wants_whole_magic:
            return None
        from kdump.binary.codecs.quirks import CodecQuirks  # only old releases need it

        return CodecQuirks(
            zstd_by_record=by_record,
            zstd_starts_anew=at(history.ZSTD_STARTS_ANEW),
            zstd_loses_last_read=at(history.ZSTD_LOSES_LAST_READ),
            zstd_wants_whole_blocks=at(history.ZSTD_WANTS_WHOLE_BLOCKS),
            zstd_trusts_block_sizes=at(history.ZSTD_TRUSTS_BLOCK_SIZES),
            zstd_wants_whole_magic=wants_whole_magic,
        )

    def default_of(self, name: str) -> str:
        """The default value of an option."""
        return self._then.at(self.options[name].defaults)

    def description_of(self, name: str) -> str:
        """The description of an option on the help screen."""
        option = self.options[name]
        text = self._then.at(option.texts)
        return f"{text} (default: {self.default_of(name)})" if option.defaults else text

    def words(self, code: str) -> Words:
        """The exception that this release throws for a fault, or what it prints if it throws none."""
        from kdump.releases import exception_texts  # only failing runs need them

        if code not in exception_texts.WORDS:
            from kdump.releases import decoder_words

            return self._then.at(decoder_words.WORDS[code])
        return self._then.at(exception_texts.WORDS[code])

    def java_cause(self, kind: str) -> str:
        """The exception of this release's codec libraries for a kind of failure."""
        from kdump.releases.exception_texts import JAVA_CAUSES

        return self._then.at(JAVA_CAUSES[kind])

    @property
    def decoder_words(self) -> DecoderWords:
        """The wording of the decoders for internal topics."""
        from kdump.releases.decoder_words import DecoderWords  # only runs with such a decoder need them

        if self._decoder_words is None:
            self._decoder_words = DecoderWords(self._then)
        return self._decoder_words

    @property
    def schemas(self) -> KnownSchemas:
        """The messages of internal topics as this release knows them."""
        from kdump.releases.schemas import KnownSchemas  # only runs with such a decoder need them

        return KnownSchemas(self._then)

    def file_records(self, *, path: str, size: int, view: tuple[int, int] | None, is_slice: bool) -> str:
        """How messages of this release name an open log, or a slice of it between two positions."""
        start, end = 0, history.MAX_INT
        if view is not None and (self._then.at(history.LOG_IS_VIEWED) or is_slice):
            start, end = view
            size = end - start
        return self._then.at(history.FILE_RECORDS).format(path=path, size=size, start=start, end=end)


def profile_of(release: str) -> Profile:
    """The profile of a release.

    Raises UsageError, with the nearest known releases, if it is unknown.
    """
    require_known(release)
    return Profile(release)
