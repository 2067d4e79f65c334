"""What a broker has to say where a forecast gives a reason.

The wording of a reason is kdump's. What it claims is compared with the broker's words: a line of its log or the message of an
exception, with the same positions, sizes, offsets, versions and names where the broker gives them. Where a broker logs nothing, a
file that it made or cut is the evidence.
"""

import re
from collections.abc import Mapping
from typing import Any

FILE = r"\d+(?:\.[a-z]+)+"
NUMBER = r"(-?[\d,]+)"
INVALID = r"Found invalid messages in log segment \S+ at byte offset {0}(?:\. \| \S+|:) "
THROWN = r"^(?!WARN )"
OPENED = f"the message at byte {NUMBER} cannot be opened: "
EPOCHS = "leader-epoch-checkpoint"
METADATA = r"partition\.metadata"
BAD_LINE = rf"Malformed line in checkpoint file [\[(]{EPOCHS}"
CONTROL = r"control batch at offset \S+"

EVIDENCE: tuple[tuple[str, str], ...] = (
    # A recovery ends, with the position in the log.
    (rf"the checksum of the batch at byte {NUMBER}, offset {NUMBER}, does not match", INVALID + r"Record is corrupt \("),
    (
        rf"the batch at byte {NUMBER} has {NUMBER} bytes, which is less than its header",
        INVALID + r"Record batch is corrupt \(the size {1} is smaller than the minimum allowed overhead",
    ),
    (
        rf"at byte {NUMBER} a batch says it is {NUMBER} bytes? long, less than 14",
        rf"({INVALID}|{THROWN}.*)Found record size {{1}} smaller than minimum record overhead \(14\)",
    ),
    (r"what follows is not a whole batch", r"Corruption found in segment|Could not find offset index file|^truncated \d+\.log"),
    (
        rf"offset {NUMBER} at byte {NUMBER} is not above {NUMBER}, the last in the index",
        r"Found invalid offset during recovery\. Deleting the corrupt segment"
        r"|Attempt to append an offset \(?{0}\)? to position \d+ no larger than the last offset appended \({2}\)",
    ),
    # Indexes.
    (
        r"the offset index is missing",
        r"Could not find offset index file|Found an orphaned index file \d+\.index|^created \d+\.index$",
    ),
    (
        rf"an aborted transaction ends at {NUMBER}, below the segment",
        r"Found a corrupted index file .* Last offset of aborted transaction AbortedTxn\(.*lastOffset={0},",
    ),
    (
        rf"a transaction index has an entry of version {NUMBER}",
        r"Unexpected aborted transaction version {0} in transaction index",
    ),
    (rf"the time index is full with {NUMBER} entries", r"Attempt to append to a full time index \(size = {0}\)"),
    (rf"an index of {NUMBER} bytes must fit into segment\.index\.bytes, {NUMBER}", r"newPosition > limit: \({0} > {1}\)"),
    # Segments.
    (r"an offset is too far above the base of its segment", r"Caught segment overflow error: Detected offset overflow"),
    (
        rf"offset {NUMBER} does not fit into the segment that starts at {NUMBER}",
        r"Detected offset overflow at offset {0} in segment LogSegment\(baseOffset={1},",
    ),
    (
        rf"the segment that starts at {NUMBER} should be split, but does not end too far above its base",
        r"Caught segment overflow error: Detected offset overflow at offset -?\d+ in segment LogSegment\(baseOffset={0},",
    ),
    (rf"the segment has no batch at byte {NUMBER}", r"java\.util\.NoSuchElementException"),
    (r"a swap was not finished", r"from interrupted swap operation|by renaming from \.swap files"),
    (
        r"the log ends before its checkpointed log start offset",
        r"Deleting all segments because logEndOffset \(-?\d+\) is smaller than logStartOffset",
    ),
    (
        r"for this release, a directory marked -stray is not in the form of topic-partition",
        r"is not in the form of topic-partition or",
    ),
    (r"\S+ is not the name of a segment file: \"(\S*)\" is not a number of 64 bits", r"For input string: \"{0}\""),
    # Leader epochs.
    (
        rf"{EPOCHS} has version {NUMBER}",  # 2.8.2 names the version that it expected
        rf"Unrecognised version:{{0}}, expected version: 0 in checkpoint file at: {EPOCHS}"
        rf"|Unrecognized version of the checkpoint file \({EPOCHS}\): 0",
    ),
    (rf"{EPOCHS} contains bytes that are not text", rf"{EPOCHS} \| java\.nio\.charset\.MalformedInputException"),
    (rf"a line of {EPOCHS} is not a number", BAD_LINE),
    (
        rf"{EPOCHS} says that it has {NUMBER} epochs, but has {NUMBER}",
        rf"Expected \[?{{0}}\]? entries in checkpoint file [\[(]{EPOCHS}[\])], but found only \[?{{1}}\]?",
    ),
    (rf"line \d+ of {EPOCHS} has (?:\d+ words, not two|more than two words)", BAD_LINE),
    (rf"line \d+ of {EPOCHS} does not contain two numbers", rf"For input string: |{BAD_LINE}"),
    (
        rf"leader epoch {NUMBER} that starts at offset {NUMBER} is impossible",
        r"Received invalid partition leader epoch entry EpochEntry[\[(]epoch={0}, startOffset={1}[\])]",
    ),
    # The topic id.
    (rf"(?:{METADATA} has version|the version in {METADATA} is) {NUMBER}", rf"Unrecogni[sz]ed version of.*{METADATA}.*{{0}}"),
    (
        rf"line \d+ of {METADATA} is not a name with a value",
        rf"Malformed line in (checkpoint|partition metadata) file [\[(]{METADATA}",
    ),
    (rf"{METADATA} (?:is empty|ends before line \d+)", r"NullPointerException"),
    (
        rf"the topic id in {METADATA} is all zeros, which means none",
        rf"Invalid topic ID in partition metadata file \({METADATA}\)",
    ),
    (rf"the topic id in {METADATA} has \d+ characters.*", r"Input string .*UUID"),
    # Producers.
    (
        rf"producer {NUMBER} writes offset {NUMBER} outside the transaction that it has open",
        r"Expected transactional write from producer {0} at offset \(?offset={1}\b",
    ),
    (
        rf"offset {NUMBER} is not in the log, which goes from {NUMBER} to {NUMBER}",
        r"Received request for offset {0} for partition \S+, but we only have log segments in the range {1} to {2}",
    ),
    (
        rf"codec {NUMBER} of the (?:control batch|message) at (?:byte|offset) [\d,]+ does not exist",
        r"Unknown compression type id: {0}",
    ),
    (
        r"the control batch at offset \S+ of a producer has type 2, and is not a marker",
        r"Invalid control record type for end transaction marker ?(LEADER_CHANGE|QUORUM_REASSIGNMENT)",
    ),
    (
        r"the control batch at offset \S+ of a producer has type (?!2,)\S+, and is not a marker",
        r"Invalid control record type for end transaction marker ?UNKNOWN",
    ),
    (rf"{CONTROL}: a control record has no (key|value)", r"NullPointerException.*because \"({0}|buffer)\" is null"),
    (
        rf"{CONTROL}: a control record has version {NUMBER}\D*",
        r"Invalid version found for control record: {0}\. May indicate data corruption",
    ),
    (
        rf"{CONTROL}: a transaction marker has {NUMBER} bytes.*",
        r"end transaction marker\. Must have at least 6 bytes, but found only {0}|java\.nio\.BufferUnderflowException",
    ),
    (
        rf"{CONTROL}: the key of a control record has {NUMBER} bytes.*",
        r"control record key\. Must have at least 4 bytes, but found only {0}",
    ),
    (
        rf"{CONTROL}: the last record says it is {NUMBER} bytes? long, with {NUMBER} left in its batch",
        r"Invalid record size: expected {0} bytes .* only {1} remaining bytes|Incorrect declared batch size, records still",
    ),
    (rf"{CONTROL}: a record batch says it holds {NUMBER} records", r"Found invalid record count {0} in magic v2 batch"),
    # Wrappers of old messages, opened for their first offset.
    (
        OPENED + r"(Corrupt GZIP trailer|invalid [a-z /]+|Stream frame descriptor corrupted|Stream unsupported .*)",
        r"Exception: {1}",
    ),
    (OPENED + r"a snappy block .*", r"FAILED_TO_UNCOMPRESS|failed to read chunk"),
    (OPENED + rf"a wrapper has magic {NUMBER}", r"Invalid wrapper magic found in legacy deep record iterator {1}"),
    (OPENED + r"a compressed message has no value", r"Found invalid compressed record set with null value"),
    (OPENED + r"a message inside a wrapper is itself compressed", r"Inner messages must not be compressed"),
    (OPENED + r"a message inside a wrapper says it is .* bytes long.*", r"Record size is less than the minimum record overhead"),
    (OPENED + r"a message of \d+ bytes is too short for its fields", r"java\.lang\.IndexOutOfBoundsException"),
    (
        OPENED + rf"zstd does not exist in magic {NUMBER}.*",
        r"Invalid wrapper compressionType found in legacy deep record iterator {1}",
    ),
)
"""For each kind of reason what the broker says. `{0}` stands for the first thing in parentheses of the reason."""

NOTHING_SAID = re.compile(
    r"Found invalid|Corruption found|Found a corrupted|Could not find offset|Deleting all segments|segment overflow"
    r"|interrupted swap|^ERROR"
)
"""What a broker does not say where there is no reason."""


def what_is_missing(reason: str | None, line: Mapping[str, Any]) -> str | None:
    """What the broker should have said at this start for a reason to hold; None if it did."""
    said = [*line["said"], *(f"{change} {name}" for name, change, *_ in line["files"])]
    said += [f"truncated {name}" for name, change, _, before, after in line["files"] if change == "renamed" and after < before]
    if reason is None:
        return next((f"no reason for {text}" for text in said if NOTHING_SAID.search(text)), None)
    if known := re.match(
        rf"by \S+ epoch {NUMBER} starts at offset {NUMBER}|(?:\S+ (?:is|knows) of offset |by \S+ it \D+){NUMBER}", reason
    ):
        end = int(known[known.lastindex or 0].replace(",", ""))
        return None if line.get("log_end", end) <= end else f"a log that ends up to {end}"
    for wording, evidence in EVIDENCE:
        if found := re.fullmatch(rf"(?:{FILE}: )?{wording}", reason):
            wanted = evidence
            for row, group in enumerate(found.groups("")):
                wanted = wanted.replace(f"{{{row}}}", re.escape(group.replace(",", "")))
            return None if any(re.search(wanted, text) for text in said) else wanted
    return f"no evidence is known of: {reason}"
