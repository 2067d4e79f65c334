"""What a listing is asked for: files of one suffix, a form of output, ranges and limits."""

from __future__ import annotations

from functools import cached_property

from kdump.cli import schema_options
from kdump.cli.listing import decoder_names
from kdump.cli.listing.options import EXPORTS, LogOptions
from kdump.cli.listing.paths import chosen
from kdump.cli.shared_options import ESCAPE, range_of
from kdump.errors import UsageError
from kdump.formats.ranges import Range
from kdump.releases.known import require_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.listing.options import ListingOptions
    from kdump.releases.profile import Profile


class Request:
    """One invocation of a command. Raises UsageError for a release or a time that does not exist."""

    def __init__(self, suffix: str, given: ListingOptions) -> None:
        options = LogOptions(**vars(given))  # those that the command does not have are as if they were not given
        self.suffix = suffix
        self.paths = chosen(options.paths, suffix, options.topics, options.partitions)
        self.output = options.output
        self.color = options.color
        self.escapes_formulas = options.csv_formulas == ESCAPE
        require_known(options.release)
        self._release = options.release
        self.limit = options.limit
        self.is_strict = options.is_strict
        self.range = range_of(options)
        self.from_position = options.from_position
        self.tail = options.tail
        self.offset = options.offset
        self._take_one_offset(options.limit)
        self.skips_metadata = options.skips_metadata
        self.decoder_command = options.decoder_command
        key_decoder, value_decoder = options.key_decoder, options.value_decoder
        if options.decoder_command is not None and key_decoder is None and value_decoder is None:
            key_decoder = value_decoder = "cmd"
        self._take_decoders(options.decode, key_decoder, value_decoder, options.schemas)
        asks_for_data = options.prints_data or options.decode not in (None, decoder_names.NONE)
        self.is_deep = options.is_deep or asks_for_data or self.asks_for_schemas
        self.prints_data = asks_for_data
        self.keep_going = not options.fails_fast

    def _take_one_offset(self, limit: int | None) -> None:
        """Make `offset` a range. Raises UsageError if `offset` or `tail` is given beside a range."""
        for name, value in (("--tail", self.tail), ("--offset", self.offset)):
            if value is not None and (self.has_range or self.from_position is not None or name == "--tail" and limit is not None):
                raise UsageError(f"{name} already selects the rows", remedy="leave out --from-..., --to-... and --limit")
        if self.tail is not None and self.offset is not None:
            raise UsageError("--tail and --offset do not go together")
        if self.offset is not None:
            self.range = Range(self.offset, self.offset)

    def _take_decoders(self, decode: str | None, key_decoder: str | None, value_decoder: str | None, schemas: str | None) -> None:
        """Choose the decoders: `decode` is a name in decoder_names.NAMES, `decoders` are those of keys and values.

        `part_decoders` are those that were given for keys and values, `schemas` is where schemas are, and `asks_for_schemas`
        says whether any of these was given; otherwise a registry beside the data is used.

        Kafka's lines have keys and values as they are unless something else is asked for, as in Kafka; other forms of output
        show what the records of an internal topic say.
        """
        is_plain = key_decoder is not None or value_decoder is not None or schemas is not None
        if is_plain and decode not in (None, decoder_names.NONE):
            raise UsageError(f"--decode {decode} decodes keys and values", remedy="leave out --key-decoder and --value-decoder")
        if decode in schema_options.PLAIN:
            key_decoder = value_decoder = decode
        self.schemas, self.part_decoders = schemas, (key_decoder or "", value_decoder or "")
        if key_decoder is not None:
            key_decoder = schema_options.kind_of("--key-decoder", key_decoder)
        if value_decoder is not None:
            value_decoder = schema_options.kind_of("--value-decoder", value_decoder)
        self.asks_for_schemas = schemas is not None or not {key_decoder, value_decoder} <= {None, *schema_options.PLAIN}
        if self.asks_for_schemas:
            self._refuse_schemas(decode)
        self.says_decoder = decode == decoder_names.AUTO and self.output not in EXPORTS  # asked for, not by default
        self.decoders = (key_decoder or "string", value_decoder or "string")
        default = decoder_names.NONE if self.output == "kafka" else decoder_names.AUTO
        self.decode = decode if decode is not None else "string" if is_plain else default
        option = decoder_names.OPTIONS.get(self.decode)
        if self.output == "kafka" and option is not None and option not in self.profile.topic_decoders:
            raise UsageError(decoder_names.no_words(self.profile, self.decode), remedy="--output ndjson decodes for any release")

    def _refuse_schemas(self, decode: str | None) -> None:
        """Raises UsageError if schemas are given that cannot be used."""
        if decode not in (None, decoder_names.AUTO):
            raise UsageError(f"--decode {decode} decodes without schemas", remedy="leave it out")
        if self.output == "kafka":
            remedy = "choose --output ndjson, csv, table or parquet"
            raise UsageError("Kafka's lines show keys and values as they are, not by schemas", remedy=remedy)

    @cached_property
    def profile(self) -> Profile:
        """The words of the release that is asked for, which only Kafka's lines have."""
        from kdump.releases.profile import profile_of

        return profile_of(self._release)

    @property
    def has_range(self) -> bool:
        """Whether only a range of offsets or times is asked for."""
        return not self.range.is_open
