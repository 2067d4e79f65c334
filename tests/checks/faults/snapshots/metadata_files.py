"""Faults of leader epochs, partition metadata, and KRaft's snapshots and records."""

from tests.builders.cluster_metadata import replicas, topic
from tests.builders.files import checkpoint, file_name, partition_metadata
from tests.builders.messages import int16, int32, string
from tests.builders.records import batch, record, snapshot_footer_record, snapshot_header_record
from tests.checks.faults.case import NO_BYTES, WHOLE_FILE, FaultCase, Files, case, error, info, partition_files, place, warning


def _epoch_batch(offset: int, epoch: int) -> bytes:
    return batch(base_offset=offset, records=[record(value=b"value")] * 2, partition_leader_epoch=epoch)


_LOG = file_name(0, ".log")
_EPOCHS = "leader-epoch-checkpoint"
_METADATA = "partition.metadata"
_SEGMENTS = {0: [_epoch_batch(0, 0), _epoch_batch(2, 3)], 4: [_epoch_batch(4, 3), _epoch_batch(6, 4)]}
_EPOCHS_OF_BATCHES = "0 from 0 on, 3 from 2 on, 4 from 6 on"
_SOUND = dict(partition_files(_SEGMENTS))
_ORDERS, _OTHER = "AAAAAAAAAAAAAAAAAAAAAQ", "xuNFeVKBTimjCGKSv9Pz9Q"  # the first is that of all partitions built here


def _with(name: str, data: bytes) -> dict[str, bytes]:
    return {**_SOUND, name: data}


def _with_epochs(*entries: tuple[int, int]) -> dict[str, bytes]:
    return _with(_EPOCHS, checkpoint(entries=entries))


_PART = "00000000000000000010-0000000003.checkpoint.part"
_NAME = "00000000000000000010-0000000003.checkpoint"
_NO_OP = b"\x01\x14\x00\x00"  # frame version, type, version, no tagged fields
_HEADER = batch(records=[snapshot_header_record()], is_control=True)
_DATA = batch(base_offset=1, records=[record(value=_NO_OP)] * 2)
_FOOTER = batch(base_offset=3, records=[snapshot_footer_record()], is_control=True)
_EMPTY_FOOTER = batch(base_offset=1, records=[snapshot_footer_record()], is_control=True)
_SNAPSHOT = _HEADER + _DATA + _FOOTER


def _metadata_log(log: dict[int, bytes], **snapshots: bytes) -> dict[str, bytes]:
    """The directory of the metadata topic in a log directory; names of snapshots by their end offsets, as `_7`."""
    files = partition_files({base_offset: [data] for base_offset, data in log.items()})
    files = {**files, **{f"{int(end[1:]):020d}-0000000000.checkpoint": data for end, data in snapshots.items()}}
    return {f"__cluster_metadata-0/{name}": data for name, data in files.items()}


def _metadata_batch(offset: int, value: bytes = _NO_OP) -> bytes:
    return batch(base_offset=offset, records=[record(value=value)])


def _topics_log(*values: bytes) -> dict[str, bytes]:
    records = [batch(base_offset=offset, records=[record(value=value)]) for offset, value in enumerate(values)]
    return _metadata_log({0: b"".join(records)})


def _coordinators_log(directory: str, key: bytes | None, value: bytes | None) -> dict[str, bytes]:
    return _in_log_dir(partition_files({0: [batch(records=[record(key=key, value=value)])]}), directory)


_OFFSET_KEY = int16(1) + string("group") + string("topic") + int32(0)
_QUORUM = "__cluster_metadata-0/quorum-state"
_NO_ID, _ID = "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"
_STATE = b'{"leaderId":1,"leaderEpoch":41,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
_OLD_STATE = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":8589934592,'
    b'"currentVoters":[{"voterId":1}],"data_version":0}'
)
_KRAFT_META = {"meta.properties": b"node.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\nversion=1\n"}


def _in_log_dir(files: Files, partition: str = "orders-3") -> dict[str, bytes]:
    return {f"{partition}/{name}": data for name, data in files.items()}


CASES: tuple[FaultCase, ...] = (
    case(
        "epochs-malformed",
        _with(_EPOCHS, b"0\n3\n0 0\n3 2 2\n4 6\n"),
        error((8, 14), file=_EPOCHS),
        _with(_EPOCHS, b"0\r\n3\r\n0\t0\r\n3  2\r\n+4 6"),
    ),
    case("epochs-malformed: zeros", {_EPOCHS: bytes(14)}, error(WHOLE_FILE), {_EPOCHS: b""}),
    case(
        "epochs-count-mismatch",
        _with(_EPOCHS, checkpoint(entries=[(0, 0), (3, 2), (4, 6)], entry_count=4)),
        error(WHOLE_FILE, file=_EPOCHS, expected="4", found="3"),
        _SOUND,
    ),
    case(
        "epochs-version-unknown",
        {_EPOCHS: checkpoint(entries=[(0, 0)], version=1)},
        error((0, 2), found="1"),
        {_EPOCHS: checkpoint(entries=[(0, 0)])},
    ),
    case("epochs-not-monotonic", _with_epochs((0, 0), (4, 6), (3, 2)), error((12, 16), file=_EPOCHS), _SOUND),
    case(
        "epochs-beyond-log",
        _with_epochs((0, 0), (3, 2), (4, 6), (7, 9)),
        error((16, 20), file=_EPOCHS, offsets=(8, 8), is_estimated=True, expected="at most 8", found="9"),
        _with_epochs((0, 0), (3, 2), (4, 6), (7, 8)),
    ),
    case(
        "epochs-disagree",
        _with_epochs((0, 0), (4, 6)),
        warning((4, 8), file=_EPOCHS, offsets=(2, 5), expected=_EPOCHS_OF_BATCHES, found="0 from 0 on, 4 from 6 on"),
        _with_epochs((0, 0), (3, 2), (4, 6), (5, 8)),
    ),
    case(
        "epochs-missing",
        partition_files(_SEGMENTS, {_EPOCHS: None}),
        warning(NO_BYTES, file=_EPOCHS),
        partition_files({0: [_epoch_batch(0, -1)]}, {_EPOCHS: None}),
    ),
    case("epochs-missing: empty", _with(_EPOCHS, b""), warning(NO_BYTES, file=_EPOCHS), partition_files({0: []}, {_EPOCHS: b""})),
    # segments and indexes only: a copy
    case(
        "epochs-missing: of-a-copy",
        partition_files(_SEGMENTS, {_EPOCHS: None, _METADATA: None}),
        info(NO_BYTES, file=_EPOCHS, expected=_EPOCHS_OF_BATCHES),
        _SOUND,
        also={"file-empty": (info(NO_BYTES, file=file_name(0, ".index")), info(NO_BYTES, file=file_name(4, ".index")))},
        near_also={"file-empty"},
        settings={"is_pedantic": True},
    ),
    case(
        "checkpoint-name-bad",
        {"0000000000000000001x-0000000003.checkpoint": _SNAPSHOT},
        error(NO_BYTES),
        {"bootstrap.checkpoint": _SNAPSHOT},
    ),
    case("checkpoint-no-header", {_NAME: _DATA + _FOOTER}, error(place([_DATA, _FOOTER], 0)), {_NAME: _SNAPSHOT}),
    case("checkpoint-no-header: empty", {_NAME: b""}, error(NO_BYTES), {_NAME: _HEADER + _EMPTY_FOOTER}),
    case("checkpoint-no-footer", {_NAME: _HEADER + _DATA}, error(place([_HEADER, _DATA], 1)), {_NAME: _SNAPSHOT}),
    case(
        "checkpoint-bad-batch",
        {_NAME: _HEADER + batch(base_offset=1, records=[record(key=b"key", value=_NO_OP)] * 2) + _FOOTER},
        error((len(_HEADER), -len(_FOOTER)), offsets=(1, 2)),
        {_NAME: _SNAPSHOT},
    ),
    case(
        "metadata-record-undecodable",
        _metadata_log({0: _metadata_batch(0) + _metadata_batch(1, b"\x01\x7f\x00\x00") + _metadata_batch(2, b"\x01\x14")}),
        (
            warning((72, 144), file=f"__cluster_metadata-0/{_LOG}", offsets=(1, 1)),
            warning((144, 144 + 70), file=f"__cluster_metadata-0/{_LOG}", offsets=(2, 2)),
        ),
        _metadata_log({0: _metadata_batch(0)}),
    ),
    *(
        case(
            f"metadata-record-undecodable: {name}",
            _coordinators_log(directory, key, int16(99)),
            at(WHOLE_FILE, file=f"{directory}/{_LOG}", offsets=(0, 0)),
            _coordinators_log(directory, _OFFSET_KEY, None) if key else _coordinators_log(directory[2:], None, int16(99)),
        )
        for name, directory, key, at in (
            ("coordinator", "__consumer_offsets-7", _OFFSET_KEY, warning),
            ("key-cut", "__consumer_offsets-7", _OFFSET_KEY[:-1], error),
            ("without-key", "__share_group_state-0", None, error),
        )
    ),
    case("checkpoint-leftover", _with(_PART, _HEADER), info(NO_BYTES, file=_PART), _with("quorum-state", _STATE)),
    case(
        "snapshot-gap-metadata",
        _metadata_log({7: _metadata_batch(7)}, _5=_SNAPSHOT),
        error(NO_BYTES, file=f"__cluster_metadata-0/{file_name(7, '.log')}", offsets=(5, 6)),
        _metadata_log({7: _metadata_batch(7)}, _5=_SNAPSHOT, _7=_SNAPSHOT),
    ),
    case("partition-metadata-bad", _with(_METADATA, b""), error(NO_BYTES, file=_METADATA), _SOUND),
    case(
        "partition-metadata-bad: missing",
        _KRAFT_META
        | _in_log_dir(partition_files({0: [_metadata_batch(0)]}, {_METADATA: None}), "__cluster_metadata-0")
        | _in_log_dir(partition_files(_SEGMENTS, {_METADATA: None})),
        error(NO_BYTES, file=f"orders-3/{_METADATA}"),
        {"meta.properties": b"broker.id=1\nversion=0\n"} | _in_log_dir(partition_files(_SEGMENTS, {_METADATA: None})),
    ),
    case(
        "partition-metadata-bad: of-another-topic",
        _in_log_dir(_SOUND) | _in_log_dir(_with(_METADATA, partition_metadata(topic_id="AAAAAAAAAAAAAAAAAAAAAg")), "orders-4"),
        warning(NO_BYTES, file=f"orders-4/{_METADATA}"),
        _in_log_dir(_SOUND) | _in_log_dir(_SOUND, "orders-4"),
    ),
    *(
        case(
            f"partition-metadata-bad: {name}",
            _KRAFT_META | _topics_log(*values) | _in_log_dir(_SOUND),
            severity(NO_BYTES, file=f"orders-3/{_METADATA}"),
            _KRAFT_META | _topics_log(topic("orders", _ORDERS), replicas(_ORDERS, 3, 1)) | _in_log_dir(_SOUND),
        )
        for name, severity, values in (
            ("id-not-of-the-topic", error, [topic("orders", _OTHER), replicas(_OTHER, 3, 1)]),
            ("id-of-another", error, [topic("sales", _ORDERS), replicas(_ORDERS, 3, 1)]),
            ("no-such-partition", info, [topic("orders", _ORDERS), replicas(_ORDERS, 2, 1)]),
            ("no-such-topic", info, [topic("sales", _OTHER), replicas(_OTHER, 3, 1)]),
        )
    ),
    *(
        case(
            f"quorum-state-bad: {name}",
            _metadata_log({0: _metadata_batch(0)}) | {_QUORUM: data},
            error(WHOLE_FILE, file=_QUORUM),
            _metadata_log({0: _metadata_batch(0)}) | {_QUORUM: near},
        )
        for name, data, near in (
            ("", b"", _STATE),
            ("zeros", bytes(150), _STATE + b"xyz"),
            ("not-json", b"leaderId: 1", _STATE + b"\nleaderId: 1"),
            ("list", b"[1,2]", b" \t" + _STATE),
            ("without-version", _STATE.replace(b"data_version", b"version"), _STATE.replace(b"}", b',"more":[1]}')),
            ("version", _STATE.replace(b":1}", b":2}"), _OLD_STATE.replace(b":0}", b':"0"}')),
            ("field", _STATE.replace(b"votedId", b"voted"), _STATE.replace(b"-1", b"77")),
            ("text-for-number", _STATE.replace(b"41", b'"41"'), _STATE.replace(b"41", b"-5")),
            ("large-number", _STATE.replace(b"41", b"8589934592"), _STATE.replace(b"41", b"2147483647")),
            ("fraction", _STATE.replace(b"41", b"2.5"), _STATE.replace(b"41", b"2")),
            ("id", _STATE.replace(_NO_ID.encode(), b"zz"), _STATE.replace(_NO_ID.encode(), b"xuNFeVKBTimjCGKSv9Pz9Q")),
            ("voters", _OLD_STATE.replace(b'[{"voterId":1}]', b"null"), _OLD_STATE.replace(b'[{"voterId":1}]', b"[]")),
            ("voter", _OLD_STATE.replace(b'{"voterId":1}', b"{}"), _OLD_STATE),
            ("not-utf-8", _OLD_STATE.replace(b'""', b'"\xff"'), _OLD_STATE.replace(b'""', b'"\xc3\xa9"')),
        )
    ),
)
