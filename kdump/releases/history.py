"""The history of Kafka's tool: every line, option, message and behaviour, and the release that introduced it.

Read it like a changelog: a timeline lists, in ascending order, the first release of each value; a part of a line says since and
until which release it exists. To add a release, add rows here; no other module knows releases.
"""

from __future__ import annotations

from kdump.releases.timeline import FIRST, Part
from kdump.tables import Declared

MAX_INT = 0x7FFFFFFF

# The command line ------------------------------------------------------------------------------------------------------


_NO_DEFAULTS: dict[str, str] = {}


class Option(Declared):
    """An option of the tool: `argument` is ``, `required` or `optional`; `hint` names it on the help screen.

    `texts` is the description by release; before the first release the option does not exist. `defaults` appear in it.
    """

    name: str
    texts: dict[str, str]
    argument: str = ""
    hint: str = ""
    defaults: dict[str, str] = _NO_DEFAULTS
    is_number: bool = False


_STRING_DECODER = {FIRST: "kafka.serializer.StringDecoder", "3.8.0": "org.apache.kafka.tools.api.StringDecoder"}

OPTIONS = (
    Option(
        "cluster-metadata-decoder",
        {
            "2.8.0": "if set, log data will be parsed as cluster metadata records.",
            "3.9.0": "If set, log data will be parsed as cluster metadata records.",
        },
    ),
    Option(
        "deep-iteration",
        {
            "0.8.0": "if set, uses deep instead of shallow iteration",
            "0.10.1.0": "if set, uses deep instead of shallow iteration.",
            "1.1.0": "if set, uses deep instead of shallow iteration. Automatically set if print-data-log is enabled.",
            "3.9.0": "If set, uses deep instead of shallow iteration. Automatically set if print-data-log is enabled.",
        },
    ),
    Option(
        "files",
        {
            "0.8.0": "REQUIRED: The comma separated list of data and index log files to be dumped",
            "0.10.1.0": "REQUIRED: The comma separated list of data and index log files to be dumped.",
        },
        argument="required",
        hint="<String: file1, file2, ...>",
    ),
    Option("help", {"1.0.0": "Print usage information."}),
    Option(
        "index-sanity-check",
        {
            "0.10.0.0": "if set, just checks the index sanity without printing its content. This is the same check that is "
            "executed on broker startup to determine if an index needs rebuilding or not.",
            "3.9.0": "If set, just checks the index sanity without printing its content. This is the same check that is "
            "executed on broker startup to determine if an index needs rebuilding or not.",
        },
    ),
    Option(
        "key-decoder-class",
        {
            "0.8.2.0": "if set, used to deserialize the keys. This class should implement kafka.serializer.Decoder trait. "
            "Custom jar should be available in kafka/libs directory.",
            "3.8.0": "if set, used to deserialize the keys. This class should implement org.apache.kafka.tools.api.Decoder "
            "trait. Custom jar should be available in kafka/libs directory.",
            "3.9.0": "If set, used to deserialize the keys. This class should implement org.apache.kafka.tools.api.Decoder "
            "trait. Custom jar should be available in kafka/libs directory.",
        },
        argument="optional",
        hint="[String]",
        defaults=_STRING_DECODER,
    ),
    Option(
        "max-bytes",
        {"3.3.0": "Limit the amount of total batches read in bytes avoiding reading the whole .log file(s)."},
        argument="required",
        hint="<Integer: size>",
        defaults={FIRST: str(MAX_INT)},
        is_number=True,
    ),
    Option(
        "max-message-size",
        {"0.8.0": "Size of largest message."},
        argument="required",
        hint="<Integer: size>",
        defaults={"0.8.0": "5242880"},
        is_number=True,
    ),
    Option(
        "offsets-decoder",
        {
            "0.9.0.1": "if set, log data will be parsed as offset data from __consumer_offsets topic",
            "0.10.1.0": "if set, log data will be parsed as offset data from __consumer_offsets topic.",
            "0.11.0.0": "if set, log data will be parsed as offset data from the __consumer_offsets topic.",
            "3.9.0": "If set, log data will be parsed as offset data from the __consumer_offsets topic.",
        },
    ),
    Option(
        "print-data-log",
        {
            "0.8.0": "if set, printing the messages content when dumping data logs",
            "0.10.1.0": "if set, printing the messages content when dumping data logs. Automatically set if any decoder option "
            "is specified.",
            "3.9.0": "If set, printing the messages content when dumping data logs. Automatically set if any decoder option "
            "is specified.",
        },
    ),
    Option(
        "remote-log-metadata-decoder",
        {
            "3.9.0": "If set, log data will be parsed as TopicBasedRemoteLogMetadataManager (RLMM) metadata records. Instead, "
            "the value-decoder-class option can be used if a custom RLMM implementation is configured.",
        },
    ),
    Option(
        "share-group-state-decoder",
        {"4.0.0": "If set, log data will be parsed as share group state data from the __share_group_state topic."},
    ),
    Option(
        "skip-record-metadata",
        {
            "2.8.0": "whether to skip printing metadata for each record.",
            "3.9.0": "Whether to skip printing metadata for each record.",
            "4.2.0": "Skip metadata when printing records. This flag also skips control records.",
        },
    ),
    Option(
        "transaction-log-decoder",
        {
            "0.11.0.0": "if set, log data will be parsed as transaction metadata from the __transaction_state topic.",
            "3.9.0": "If set, log data will be parsed as transaction metadata from the __transaction_state topic.",
        },
    ),
    Option(
        "value-decoder-class",
        {
            "0.8.2.0": "if set, used to deserialize the messages. This class should implement kafka.serializer.Decoder trait. "
            "Custom jar should be available in kafka/libs directory.",
            "3.8.0": "if set, used to deserialize the messages. This class should implement "
            "org.apache.kafka.tools.api.Decoder trait. Custom jar should be available in kafka/libs directory.",
            "3.9.0": "If set, used to deserialize the messages. This class should implement "
            "org.apache.kafka.tools.api.Decoder trait. Custom jar should be available in kafka/libs directory.",
        },
        argument="optional",
        hint="[String]",
        defaults=_STRING_DECODER,
    ),
    Option(
        "verify-index-only",
        {
            "0.8.0": "if set, just verify the index log without printing its content",
            "0.10.1.0": "if set, just verify the index log without printing its content.",
            "3.9.0": "If set, just verify the index log without printing its content.",
        },
    ),
    Option("version", {"2.3.0": "Display Kafka version."}),
)
"""All options in the order of the help screen."""

USAGE = {
    "0.8.0": 'Missing required argument "[files]"',
    "0.8.2.0": "Parse a log file and dump its contents to the console, useful for debugging a seemingly corrupt log segment.",
    "2.2.0": "This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly "
    "corrupt log segment.",
}
"""The text above the help screen."""

VERSION_TEXT = {FIRST: "{release} (Commit:{commit})", "3.5.0": "{release}"}
"""The output of `--version`."""

TOPIC_DECODERS = (
    "offsets-decoder",
    "transaction-log-decoder",
    "cluster-metadata-decoder",
    "remote-log-metadata-decoder",
    "share-group-state-decoder",
)
"""The options that decode the records of an internal topic, in the order of precedence."""

COMMITS = {
    "2.3.0": "fc1aaa116b661c8a",
    "2.3.1": "18a913733fb71c01",
    "2.4.0": "77a89fcf8d7fa018",
    "2.4.1": "c57222ae8cd7866b",
    "2.5.0": "66563e712b0b9f84",
    "2.5.1": "0efa8fb0f4c73d92",
    "2.6.0": "62abe01bee039651",
    "2.6.1": "6b2021cd52659cef",
    "2.6.2": "da65af02e5856e34",
    "2.6.3": "c24cbd3f5eeffa1e",
    "2.7.0": "448719dc99a19793",
    "2.7.1": "61dbce85d0d41457",
    "2.7.2": "37a1cc36bf4d76f3",
    "2.8.0": "ebb1d6e21cc92130",
    "2.8.1": "839b886f9b732b15",
    "2.8.2": "3146c6ff4a24cc24",
    "3.0.0": "8cb0a5e9d3441962",
    "3.0.1": "8e30984f43e64d8b",
    "3.0.2": "25b1aea02e37da14",
    "3.1.0": "37edeed0777bacb3",
    "3.1.1": "97671528ba54a138",
    "3.1.2": "f8c67dc3ae0a3265",
    "3.2.0": "38103ffaa962ef50",
    "3.2.1": "b172a0a94f4ebb9f",
    "3.2.2": "38c22ad893fb6cf5",
    "3.2.3": "50029d3ed8ba576f",
    "3.3.0": "9d1f9f77642d7e95",
    "3.3.1": "e23c59d00e687ff5",
    "3.3.2": "b66af662e61082cb",
    "3.4.0": "2e1947d240607d53",
    "3.4.1": "8a516edc2755df89",
}
"""The commit that releases from 2.3.0 to 3.4.1 print."""

HELP_COLUMNS = {FIRST: (39, 1, 39), "0.10.0.0": (0, 2, 39), "0.10.2.0": (0, 2, 80)}
"""How wide the column of options is at least, and how far and how wide at most that of descriptions, on the help screen."""

HELP_NAMES_STRINGS = {FIRST: False, "0.10.2.0": True}
"""Whether the help screen says which arguments are strings."""

ACCEPTS_ABBREVIATIONS = {FIRST: True, "0.11.0.0": False}
"""Whether an option may be abbreviated to an unambiguous prefix."""

TAKES_EMPTY_VALUES = {FIRST: False, "1.0.0": True}
"""Whether `--option=` gives an empty value instead of taking the next word."""

CONVERTS_VALUES_LAZILY = {FIRST: False, "2.3.0": True}
"""Whether option values are parsed only when a file needs them, after its `Dumping` line."""

MAX_MESSAGE_SIZE_IS_READ_EVERYWHERE = {FIRST: True, "3.2.0": False}
"""Whether `--max-message-size` is also parsed for logs and time indexes, which only refuse an invalid number."""

PRINT_DATA_LOG_IS_DEEP = {FIRST: False, "1.1.0": True}
"""Whether `--print-data-log` implies `--deep-iteration`."""

_NAMES_OF_DECODERS = ("StringDecoder", "DefaultDecoder", "LongDecoder", "IntegerDecoder")
_OLD_PLAIN = {"kafka.serializer.StringDecoder": "string", "kafka.serializer.DefaultDecoder": "bytes"}
_OLD_NUMBERS = {"kafka.serializer.LongDecoder": "long", "kafka.serializer.IntegerDecoder": "integer"}
_NEW_DECODERS = {
    "org.apache.kafka.tools.api.StringDecoder": "string",
    "org.apache.kafka.tools.api.DefaultDecoder": "bytes",
    "org.apache.kafka.tools.api.LongDecoder": "long",
    "org.apache.kafka.tools.api.IntegerDecoder": "integer",
}
DECODER_CLASSES: dict[str, dict[str, str]] = {
    FIRST: {},
    "0.8.2.0": _OLD_PLAIN,
    "0.11.0.0": _OLD_PLAIN | _OLD_NUMBERS,
    "3.8.0": _OLD_PLAIN | _OLD_NUMBERS | _NEW_DECODERS,
    "4.0.0": _NEW_DECODERS,
}
"""The classes that decode keys and values, and the type of their results."""

DECODER_INTERFACES: dict[str, tuple[str, ...]] = {
    FIRST: ("kafka.serializer.Decoder",),
    "3.8.0": ("kafka.serializer.Decoder", "org.apache.kafka.tools.api.Decoder"),
    "4.0.0": ("org.apache.kafka.tools.api.Decoder",),
}
"""The interfaces of decoders: these classes exist, but cannot be instantiated."""

DEPRECATED_DECODERS: dict[str, dict[str, str]] = {
    FIRST: {},
    "3.8.0": {f"kafka.serializer.{name}": f"org.apache.kafka.tools.api.{name}" for name in _NAMES_OF_DECODERS},
}
"""Old names of decoders, reported as deprecated on stdout each time one is created."""

DEPRECATION_LINE = {FIRST: "{old} is deprecated. Please use {new} instead\n"}
"""The message about a deprecated decoder name."""

# Files -----------------------------------------------------------------------------------------------------------------

SUFFIXES = {
    ".log": "0.8.0",
    ".index": "0.8.0",
    ".timeindex": "0.10.1.0",
    ".txnindex": "0.11.0.0",
    ".snapshot": "0.11.0.0",
    ".checkpoint": "3.3.0",
}
"""The suffixes of files that the tool knows, with the release that introduced them."""

OPENS_DIRECTORIES = {FIRST: False, "2.1.0": True}
"""Whether a directory named like a log can be opened, and fails only when read."""

IGNORES_NAMES_WITHOUT_DOT = {FIRST: False, "4.3.0": True}
"""Whether a file without a dot in its name is skipped instead of causing an exception."""

# Logs ------------------------------------------------------------------------------------------------------------------

LOG_HEADING = {FIRST: "Starting offset: {offset}", "3.3.0": "Log starting offset: {offset}"}
"""The line above the batches of a log."""

BATCH_LINE = (
    Part("baseOffset: {base_offset} lastOffset: {last_offset}"),
    Part(" count: {count}", since="2.0.0"),
    Part(" baseSequence: {base_sequence} lastSequence: {last_sequence} producerId: {producer_id}"),
    Part(" producerEpoch: {producer_epoch} partitionLeaderEpoch: {partition_leader_epoch}"),
    Part(" isTransactional: {is_transactional}"),
    Part(" isControl: {is_control}", since="2.0.1"),
    Part(" deleteHorizonMs: {delete_horizon_ms}", since="3.2.0"),
    Part(" position: {position} {timestamp_type}: {timestamp}", starts_write=True),
    Part(" isvalid: {isvalid}", until="2.2.0"),
    Part(" size: {size} magic: {magic} compresscodec: {compresscodec} crc: {crc}"),
    Part(" isvalid: {isvalid}", since="2.2.0"),
    Part("\n"),
)
"""A batch of magic 2."""

MESSAGE_LINE = (
    Part("offset: {last_offset}"),
    Part(" position: {position} {timestamp_type}: {timestamp}", starts_write=True),
    Part(" isvalid: {isvalid}", until="2.2.0"),
    Part(" size: {size} magic: {magic} compresscodec: {compresscodec} crc: {crc}"),
    Part(" isvalid: {isvalid}", since="2.2.0"),
    Part("\n"),
)
"""A message of magic 0 or 1, or a wrapper."""

_RECORD_HEAD = (
    Part("offset: {offset} position: {position} {timestamp_type}: {timestamp} isvalid: {record_isvalid}", until="2.2.0"),
    Part(" keysize: {key_size} valuesize: {value_size} magic: {magic} compresscodec: {compresscodec}", until="2.2.0"),
    Part("| offset: {offset} {timestamp_type}: {timestamp} keysize: {key_size}", since="2.2.0", until="2.8.0"),
    Part(" valuesize: {value_size}", since="2.2.0", until="2.8.0"),
    Part("| offset: {offset} {timestamp_type}: {timestamp} keySize: {key_size} valueSize: {value_size}", since="3.0.0"),
)

_CONTENT_SIZES = (
    Part(" keySize: {key_size} valueSize: {value_size} {timestamp_type}: {timestamp}", since="2.8.0", until="3.0.0"),
)
_BATCH_OF_RECORD = (
    Part(" batchSize: {size} magic: {magic} compressType: {compresscodec} position: {position}", since="2.8.0", until="3.0.0"),
)
"""The fields of a batch or message that 2.8 repeats in each of its records."""

BATCH_RECORD_LINE = (
    *_RECORD_HEAD,
    Part("| offset: {offset} isValid: true crc: null", since="2.8.0", until="3.0.0"),
    *_CONTENT_SIZES,
    Part(" baseOffset: {base_offset} lastOffset: {last_offset}", since="2.8.0", until="3.0.0"),
    Part(" baseSequence: {base_sequence} lastSequence: {last_sequence}", since="2.8.0", until="3.0.0"),
    Part(" producerEpoch: {producer_epoch} partitionLeaderEpoch: {partition_leader_epoch}", since="2.8.0", until="3.0.0"),
    *_BATCH_OF_RECORD,
    Part(" producerId: {producer_id}", until="2.2.0", starts_write=True),
    Part(" producerEpoch: {producer_epoch}", since="0.11.0.2", until="2.2.0"),
    Part(" sequence: {sequence} isTransactional: {is_transactional}", until="2.2.0"),
    Part(" headerKeys: {headers}", until="2.2.0"),
    Part(" sequence: {sequence} headerKeys: {headers}", since="2.2.0", starts_write=True),
    Part("{contents}", starts_write=True),
    Part("\n"),
)
"""A record of magic 2."""

MESSAGE_RECORD_LINE = (
    *_RECORD_HEAD,
    Part("| offset: {offset} isValid: {record_isvalid} crc: {record_crc}", since="2.8.0", until="3.0.0"),
    *_CONTENT_SIZES,
    Part(" baseOffset: {first_offset} lastOffset: {last_offset}", since="2.8.0", until="3.0.0"),
    Part(" baseSequence: -1 lastSequence: -1 producerEpoch: -1 partitionLeaderEpoch: -1", since="2.8.0", until="3.0.0"),
    *_BATCH_OF_RECORD,
    Part(" crc: {record_crc}", until="2.2.0", starts_write=True),
    Part(" crc: {record_crc} isvalid: {record_isvalid}", since="2.2.0", until="3.0.0", starts_write=True),
    Part(" isValid: {record_isvalid} crc: {record_crc}", since="3.0.0", starts_write=True),
    Part("}", since="3.0.0", until="4.3.0"),  # a stray brace that Kafka printed for years
    Part("{contents}", starts_write=True),
    Part("\n"),
)
"""A message of magic 0 or 1 on its own, or inside a wrapper."""

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_SCALA_CODECS = ("NoCompressionCodec", "GZIPCompressionCodec", "SnappyCompressionCodec", "LZ4CompressionCodec")
CODEC_NAMES: dict[str, dict[str, str]] = {
    FIRST: dict(zip(_CODECS[:3], _SCALA_CODECS, strict=False)),
    "0.8.2.0": dict(zip(_CODECS, _SCALA_CODECS, strict=False)),
    "0.10.2.0": {codec: codec.upper() for codec in _CODECS[:-1]},
    "2.1.0": {codec: codec.upper() for codec in _CODECS},
    "3.0.0": {codec: codec for codec in _CODECS},
}
"""The tool's names of codecs."""

CHECKS_HEADER_COUNT = {FIRST: False, "2.8.2": True, "3.0.0": False, "3.0.2": True, "3.1.0": False, "3.1.2": True}
CHECKS_HEADER_COUNT |= {"3.2.0": False, "3.2.2": True}
"""Whether a record with more headers than bytes is refused before its headers are read."""

DECOMPRESSED_IN_BLOCKS: dict[str, tuple[str, ...]] = {
    FIRST: (),
    "1.1.0": ("gzip",),
    "2.8.0": ("gzip", "zstd"),
    "3.6.0": ("gzip", "zstd", "snappy"),
}
"""The codecs for which damage in a compressed batch is reported one block before its record."""

ZSTD_STARTS_ANEW = {FIRST: True, "2.3.0": False}
"""Whether each read after the first frame of a zstd payload restarts in the middle of the remaining bytes and loses some."""

ZSTD_LOSES_LAST_READ = {FIRST: True, "2.5.0": False}
"""Whether a partial record is lost if a zstd payload ends inside a further frame."""

ZSTD_WANTS_WHOLE_BLOCKS = {FIRST: True, "2.7.0": False}
"""Whether an uncompressed zstd block yields nothing if the payload ends inside it."""

ZSTD_TRUSTS_BLOCK_SIZES = {FIRST: True, "2.4.0": False}
"""Whether a zstd block may be larger than the window of its frame if its output fits into the buffer."""

ZSTD_WANTS_WHOLE_MAGIC = {FIRST: True, "3.5.0": False}
"""Whether fewer than five bytes after a zstd frame are ignored even if no frame starts with them."""

MARKER_SIZE_IS_CHECKED_FIRST = {FIRST: True, "4.1.0": False}
"""Whether the size of a transaction marker is checked before its version."""

DEEP_SHOWS_BATCHES = {FIRST: False, "2.2.0": True}
"""Whether `--deep-iteration` shows each batch before its records instead of records only."""

SHOWS_KEYS_OF_NULL_VALUES = {FIRST: False, "2.4.0": True}
"""Whether the key of a record without a value is shown."""

SKIPPED_METADATA_PREFIXES_PAYLOAD = {FIRST: False, "4.3.0": True}
"""Whether a payload without a key follows a bar with `--skip-record-metadata`."""

CHECKS_FIRST_OFFSET = {FIRST: False, "4.3.0": True}
"""Whether the first record of a log counts as following offset -1."""

FAILS_ON_LENGTH_OVERFLOW = {FIRST: True, "1.1.1": False}
"""Whether a length that overflows 32 bits together with the 12 bytes before it throws instead of ending the log."""


class ControlType(Declared):
    """A type of control records: its `name`, and how the value is shown: `marker`, or as JSON after a `heading`.

    Without either, the type itself is shown.
    """

    name: str
    is_marker: bool = False
    heading: str = ""

    def start(self, number: int) -> str:
        """The text before the epoch of a marker or the JSON of a message, or all that is shown; `number` is that of the type."""
        if self.is_marker:
            return f" endTxnMarker: {self.name} coordinatorEpoch: "
        return f" {self.heading} " if self.heading else f" controlType: {self.name}({number})"


_MARKERS = {0: ControlType("ABORT", is_marker=True), 1: ControlType("COMMIT", is_marker=True)}
_QUORUM = _MARKERS | {2: ControlType("LEADER_CHANGE"), 3: ControlType("SNAPSHOT_HEADER"), 4: ControlType("SNAPSHOT_FOOTER")}
_SNAPSHOTS = _QUORUM | {
    3: ControlType("SNAPSHOT_HEADER", heading="SnapshotHeader"),
    4: ControlType("SNAPSHOT_FOOTER", heading="SnapshotFooter"),
}
_VOTERS = _SNAPSHOTS | {
    5: ControlType("KRAFT_VERSION", heading="KRaftVersion"),
    6: ControlType("KRAFT_VOTERS", heading="KRaftVoters"),
}
CONTROL_TYPES: dict[str, dict[int, ControlType]] = {
    FIRST: _MARKERS,
    "2.7.0": _MARKERS | {2: ControlType("QUORUM_REASSIGNMENT"), 3: ControlType("LEADER_CHANGE")},
    "3.0.0": _QUORUM,
    "3.3.0": _SNAPSHOTS,
    "3.8.0": _VOTERS,
    "4.1.0": _VOTERS | {2: ControlType("LEADER_CHANGE", heading="LeaderChange:")},  # the only label with a colon
}
"""The types of control records, and their output."""

# Indexes ---------------------------------------------------------------------------------------------------------------

INDEX_LINE = {FIRST: "offset: {offset} position: {position}\n"}
"""An entry of an offset index."""

INDEX_NAMES_EMPTY = {FIRST: False, "2.8.0": True}
"""Whether an offset index without entries is reported as empty."""

INDEX_COMPARES_FIRST_RECORD = {FIRST: True, "2.3.0": False}
"""Whether an entry is compared with the first record at its position, else with the last offset of the batch there."""

INDEX_CHECKS_ZERO_ENTRY = {FIRST: True, "2.3.0": False}
"""Whether the first entry of a zero tail is still compared before it ends the index."""

INDEX_LOOKUP_TRIES_END_FIRST = {FIRST: False, "2.1.0": True}
"""Whether a lookup searches the last 1024 entries first."""

SANITY_ALLOWS_BASE_OFFSET = {FIRST: False, "2.0.0": True}
"""Whether the last entry may hold the base offset itself, as a zero tail does."""

SANITY_LINE = {FIRST: "{path} passed sanity check.\n"}
"""The message for an index that passes `--index-sanity-check`."""

TIME_INDEX_LINE = {FIRST: "timestamp: {timestamp} offset: {offset}\n"}
"""An entry of a time index."""

TIME_INDEX_CHECKS_ZERO_ENTRY = {FIRST: True, "2.3.0": False}
"""Whether entries of a zero tail are still compared, and end the index only if a batch ends at the base offset."""

SLICE_MAY_START_PAST_END = {FIRST: True, "2.1.0": False}
"""Whether a position past the end of the log yields no batches instead of an error."""

TIME_INDEX_READS_TO_END = {FIRST: False, "4.3.0": True}
"""Whether a search reads every batch up to the end of the log, so that damage after the matching batch throws."""

TRANSACTION_LINE = (
    Part("version: {version} producerId: {producer_id} firstOffset: {first_offset} lastOffset: {last_offset}"),
    Part(" lastStableOffset: {last_stable_offset}\n"),
)
"""An aborted transaction."""

TRANSACTION_VERSION_IS_A_BYTE = {FIRST: True, "4.4.0": False}
"""Whether only the first of the two bytes of the version of an aborted transaction is read, and may be negative."""

SNAPSHOT_LINE = (
    Part("producerId: {producer_id} producerEpoch: {producer_epoch}"),
    Part(" coordinatorEpoch: {coordinator_epoch} currentTxnFirstOffset: {current_txn_first_offset}", since="1.0.0"),
    Part(" lastTimestamp: {timestamp}", since="3.1.0"),
    Part(" ", until="4.3.0"),
)
"""A producer in a snapshot."""

SNAPSHOT_BATCH_PART = (
    Part("lastSequence: {last_sequence} lastOffset: {last_offset} offsetDelta: {offset_delta}", until="1.0.0"),
    Part(" lastTimestamp: {timestamp} coordinatorEpoch: {coordinator_epoch}", until="1.0.0"),
    Part(" currentTxnFirstOffset: {current_txn_first_offset}", until="1.0.0"),
    Part("cachedMetadata: {cached_metadata}", since="1.0.0", until="1.0.2"),
    Part(" ", since="4.3.0"),
    Part("firstSequence: {first_sequence} lastSequence: {last_sequence} lastOffset: {last_offset}", since="1.0.2"),
    Part(" offsetDelta: {offset_delta} timestamp: {timestamp}", since="1.0.2"),
)
"""The part of a producer's line about its last batch."""

SNAPSHOT_OMITS_UNKNOWN_BATCH = {FIRST: False, "2.4.1": True}
"""Whether the part about the last batch is omitted for a producer without one."""

SNAPSHOT_VERSION_IS_CHECKED_FIRST = {FIRST: False, "4.0.0": True}
"""Whether the version is checked before the rest is read."""

SNAPSHOT_WRAPS_SEQUENCE = {FIRST: False, "2.1.1": True}
"""Whether the first sequence of a batch is computed with wraparound at the largest number."""

OPTIONAL_LONG = {FIRST: ("None", "Some({value})"), "3.5.0": ("OptionalLong.empty", "OptionalLong[{value}]")}
"""The format of an optional number in a snapshot."""

# Reports at the end of a run -----------------------------------------------------------------------------------------------

MISMATCHES, TIMESTAMP_MISMATCHES, OUT_OF_ORDER, NOT_FOUND, NON_CONSECUTIVE = (
    "mismatches",
    "timestamp_mismatches",
    "out_of_order",
    "not_found",
    "non_consecutive",
)

REPORT_TITLES: dict[str, dict[str, str]] = {
    FIRST: {
        MISMATCHES: "Mismatches in :{path}",
        TIMESTAMP_MISMATCHES: "Found timestamp mismatch in :{path}",
        OUT_OF_ORDER: "Found out of order timestamp in :{path}",
        NOT_FOUND: "The following indexed offsets are not found in the log.",
        NON_CONSECUTIVE: "Non-secutive offsets in :{path}",
    },
}
"""The title of each report at the end of a run."""

REPORT_TITLES["0.11.0.0"] = REPORT_TITLES[FIRST] | {NON_CONSECUTIVE: "Non-consecutive offsets in :{path}"}
REPORT_TITLES["2.3.0"] = REPORT_TITLES["0.11.0.0"] | {NON_CONSECUTIVE: "Non-consecutive offsets in {path}"}
REPORT_TITLES["4.3.0"] = REPORT_TITLES["2.3.0"] | {NOT_FOUND: "The following indexed offsets are not found in :{path}"}

REPORT_LINES = {
    MISMATCHES: "  Index offset: {}, log offset: {}",
    TIMESTAMP_MISMATCHES: "  Index timestamp: {}, log timestamp: {}",
    OUT_OF_ORDER: "  Index timestamp: {}, Previously indexed timestamp: {}",
    NOT_FOUND: "Indexed offset: {}, found log offset: {}",
    NON_CONSECUTIVE: "  {} is followed by {}",
}

REPORT_ORDER = {FIRST: "scala-2.11", "2.5.0": "scala-2.13", "4.3.0": "java"}
"""The hash map that determines the order of files in a report."""

REPORT_PAIRS = {FIRST: "reverse", "4.3.0": "sorted"}
"""Whether mismatches and non-consecutive offsets are printed in reverse order of discovery, or sorted, one per first number."""

FILE_RECORDS = {
    FIRST: "FileRecords(file= {path}, start={start}, end={end})",
    "2.4.0": "FileRecords(size={size}, file={path}, start={start}, end={end})",
}
"""How messages name an open log."""

LOG_IS_VIEWED = {FIRST: False, "3.3.0": True}
"""Whether a log is dumped as a view of its first `--max-bytes` bytes, which messages then name."""

# Logs of messages: the tool before 0.11 ------------------------------------------------------------------------------------

KNOWS_MESSAGES_ONLY = {FIRST: True, "0.11.0.0": False}
"""Whether a log is read message by message, with one line each: for a wrapper, or for the messages inside it."""

LOG_MESSAGE_LINE = (
    Part("offset: {offset} position: {position}"),
    Part(" {timestamp_type}: {timestamp}", since="0.10.1.0"),
    Part(" isvalid: {isvalid} payloadsize: {value_size} magic: {magic} compresscodec: {compresscodec} crc: {crc}"),
    Part("{contents}\n"),
)
"""A message, on its own or inside a wrapper, or a wrapper."""

KEY_SIZE_PART = {FIRST: " keysize: {size}"}
"""The text before the contents of a message with a key."""

NULL_VALUES = {FIRST: "throw", "0.8.1": "null", "0.9.0.1": "hide"}
"""The output for a message with a null value: an exception, `null`, or not even the key."""

DECODERS_PRINT_DATA = {FIRST: False, "0.10.1.0": True}
"""Whether the options for decoders imply `--print-data-log`."""

IGNORES_UNKNOWN_FILES_SILENTLY = {FIRST: True, "0.11.0.0": False}
"""Whether files of other types are skipped silently."""

CREATES_MISSING_LOGS = {FIRST: True, "0.8.1": False}
"""Whether a missing log counts as empty, because the tool creates it."""

SIBLINGS_SHARE_PATH = {FIRST: True, "0.8.2.0": False}
"""Whether the log of an index is found by the path up to its first dot, even if that dot is in a directory name."""

REPORTS_BARE_NAMES = {FIRST: True, "0.8.1": False}
"""Whether reports contain file names without directories."""

INDEX_SIZE_IS_CHECKED = {FIRST: True, "0.8.1": False}
"""Whether an index cannot be opened if its size is not a multiple of the entry size."""

SLICES_ARE_CHECKED = {FIRST: False, "0.8.1": True}
"""Whether a position or size below 0 is refused before the log is read."""

SLICES_OVERFLOW = {FIRST: True, "0.10.1.0": False}
"""Whether a slice of a log that ends after 2147483647 is empty."""

LIMITS_MESSAGE_SIZE = {FIRST: False, "0.8.2.0": True}
"""Whether a message of a log that is larger than `--max-message-size` throws."""

KNOWS_TIMESTAMPS = {FIRST: False, "0.10.0.0": True}
"""Whether magic 1 has a separate layout with a timestamp; before, any magic is read as 0."""

CODEC_MASK = {FIRST: 3, "0.8.2.0": 7}
"""The bits of a message's attributes that contain its codec."""

MESSAGES_END = {FIRST: "file", "0.8.1": "message", "0.10.0.0": "overhead"}
"""Where the end of a log is detected: nowhere (the file just ends), at the start of a message, or also after its size."""

CHECKS_MESSAGE_SIZE_FIRST = {FIRST: False, "0.10.2.0": True}
"""Whether a message that is too small throws, and one that is too large even if it reaches past the end."""

UNWRAPS = {FIRST: "whole", "0.9.0.0": "lazily", "0.10.0.0": "by magic", "0.10.0.1": "eagerly"}
"""When the messages of a wrapper are returned: after it is decompressed, one by one, after all are read, or by its magic."""

WANTS_EQUAL_MAGIC = {FIRST: False, "0.10.0.0": True, "0.10.1.0": False}
"""Whether messages inside a wrapper must have its magic."""

REFUSES_NESTED_WRAPPERS = {FIRST: False, "0.10.2.0": True}
"""Whether wrappers inside wrappers, and empty ones of magic 1, are refused."""

IGNORES_EARLY_END = {FIRST: True, "0.10.2.2": False}
"""Whether a gzip stream that ends too early merely ends its wrapper, unless wrappers are decompressed as a whole."""

LZ4_IS_PLAIN = {FIRST: True, "0.10.0.0": False}
"""Whether the header of an lz4 frame may request only block checksums, and must have the checksum of early writers, which
includes the magic bytes."""

LZ4_IS_PADDED = {FIRST: True, "0.10.2.2": False}
"""Whether the missing bytes of a number at the end of an lz4 frame are read as set bits instead of causing an error."""

XERIAL = {FIRST: "one stream", "0.10.0.0": "any header", "0.10.0.1": "streams"}
"""What counts as snappy blocks in xerial framing: one header of a known version, any header with the right first byte, or
several headers."""

WRAPPERS_GIVE_TIMESTAMP_TYPE = {FIRST: False, "0.10.2.0": True}
"""Whether messages of magic 1 in a wrapper of magic 0 have no timestamp type, because the wrapper has none."""
