"""The codes of what searches and decoders could not read: what each means, and what to do."""

from __future__ import annotations

from typing import NamedTuple


class SearchCode(NamedTuple):
    """A code in the output of commands that search or decode. `title` continues "CODE: "."""

    code: str
    title: str
    cause: str
    remedy: str
    see: tuple[str, ...] = ()


_ASKED = "A search counts the record as not read only if a condition needs the decoded value (--where, --in decoded)"

_CODES = (
    SearchCode(
        "directory-unlisted",
        "a directory cannot be listed, so nobody knows whether logs are in it.",
        cause="missing permissions, or a device that fails",
        remedy="search again as a user who may list it",
    ),
    SearchCode(
        "file-changed",
        "a file was written to or replaced while it was searched.",
        cause="a broker appends to it, a tool copies it, or the schemas were changed while they were used",
        remedy="search a copy, or when nothing writes",
        see=("active-tail", "file-replaced"),
    ),
    SearchCode(
        "file-not-examined",
        "a file was not searched.",
        cause="a log lies deeper than partition directories do, or something failed, as the message says",
        remedy="name the file itself",
    ),
    SearchCode(
        "remote-segments",
        "older segments of the partition are in remote storage, which is not searched.",
        cause="tiered storage: remote-log-index-cache holds indexes of segments that are no longer on the disk",
        remedy="fetch these segments and search them, too; without them, --prove-absent proves nothing",
    ),
    SearchCode(
        "too-many-faults",
        "a file has more faults than are listed one by one; the range covers all further ones.",
        cause="a file that is badly damaged, or that is not a log",
        remedy="`kdump check` counts the faults; `kdump recover` copies what is intact",
    ),
    SearchCode(
        "worker-died",
        "the process that searched a file ended early.",
        cause="the machine ran out of memory, or somebody killed it",
        remedy="search again, with fewer processes (--jobs 1)",
        see=("check-crashed",),
    ),
    SearchCode(
        "wrapper-cut",
        "a compressed message of magic 0 or 1 ends inside one of its messages.",
        cause="an old producer was limited to a number of bytes",
        remedy="Kafka leaves out the incomplete message, and so do listings; nothing else of it exists",
        see=("legacy-wrapper-cut",),
    ),
    SearchCode(
        "json-too-large",
        "a value is JSON with numbers or levels that are too large to read.",
        cause="numbers of thousands of digits, or a hundred levels and more: perhaps hostile",
        remedy="look at the record with `kdump log --deep --offset N`; a pattern without --where is looked for in it, too",
    ),
    SearchCode(
        "schemas-incomplete",
        "the registry's topic has damage, so schemas may be missing.",
        cause="the message names the first fault in _schemas-0",
        remedy="take the _schemas-0 of another broker: --schemas DIR",
    ),
    SearchCode(
        "schema-id-unknown",
        "no schema has the id that a key or value names.",
        cause="the registry's topic is of another registry, its cleaner removed a schema that was deleted for good, or the data"
        " begin with a 0 by accident, as numbers of eight bytes do",
        remedy="--schemas DIR names the right _schemas-0; --value-decoder long or the like if the data have no schema. " + _ASKED,
        see=("schema-guid-unknown", "schema-missing"),
    ),
    SearchCode(
        "schema-guid-unknown",
        "no schema has the GUID in the header of a record.",
        cause="as for schema-id-unknown; a GUID follows from the text of a schema, so metadata and rules change it",
        remedy="--schemas DIR names the right _schemas-0. " + _ASKED,
        see=("schema-id-unknown",),
    ),
    SearchCode(
        "schema-fingerprint-unknown",
        "no schema has the fingerprint of an Avro single object.",
        cause="the schema is in no registry beside the data",
        remedy="--schemas FILE.avsc names it. " + _ASKED,
        see=("schema-id-unknown",),
    ),
    SearchCode(
        "schema-missing",
        "a key or value does not say which schema it has, and none was named.",
        cause="the data were written without a registry",
        remedy="--value-decoder avro:NAME or --value-decoder protobuf:NAME with --schemas, or --value-decoder string. " + _ASKED,
        see=("schema-id-unknown",),
    ),
    SearchCode(
        "schema-invalid",
        "a schema cannot be used.",
        cause="its text is malformed, refers to schemas that are not there, or exceeds a limit, as the message says",
        remedy="put it right, or leave its file out of --schemas",
    ),
    SearchCode(
        "schema-undecodable",
        "a key or value is not what its schema says.",
        cause="it was written with another schema, encrypted, or cut off; or it has more than 100 levels",
        remedy="its bytes are in the columns key and value; --value-decoder with another decoder may fit. " + _ASKED,
        see=("schema-id-unknown",),
    ),
    SearchCode(
        "schema-value-too-large",
        "a key or value would become too much JSON.",
        cause="it grows more than a sound value does: perhaps hostile. The limits are in docs/schemas.md. Of internal topics, "
        "records of more than 3 MiB are not decoded, and control records of more than 1 MiB",
        remedy="its bytes are in the columns key and value. " + _ASKED,
    ),
    SearchCode(
        "schema-column-unfit",
        "a decoded value does not fit into its column of Parquet or Arrow, and is null there.",
        cause="a date after the year 9999, for example, which the type of the column cannot hold",
        remedy="NDJSON shows it; the bytes are in the columns key and value",
    ),
    SearchCode(
        "decoder-failed",
        "a decoder of your own did not decode a key or value.",
        cause="the function raised an error, or the command ended, answered too late, or wrote what nobody asked for",
        remedy="the message has its reason",
    ),
)

_OF_MESSAGES = (
    "message-array-too-large",
    "message-bytes-past-end",
    "message-null",
    "message-out-of-memory",
    "message-size-negative",
    "message-string-too-long",
    "message-tag-not-in-version",
    "message-underflow",
    "message-varint-too-long",
    "message-version-unknown",
)
_MESSAGE = SearchCode(
    "message-undecodable",
    "a key or value of an internal topic is not what Kafka's schemas say.",
    cause="damage, a version that kdump does not know, or a topic of yours whose name looks like that of an internal one",
    remedy="look at the record with `kdump log --deep --offset N --decode none`. " + _ASKED,
    see=("metadata-record-undecodable",),
)

SEARCHES = {one.code: one for one in _CODES} | {code: _MESSAGE._replace(code=code) for code in _OF_MESSAGES}
"""Codes that are not faults of files: of searches, and of what decodes keys and values."""

SAME_AS = {
    "codec-missing": "codec-package-missing",
    "file-io-error": "io-error",
    "file-is-directory": "not-regular",
    "file-link-outside": "symlink-outside",
    "file-missing": "file-vanished",
    "file-not-regular": "not-regular",
    "file-permission": "permission-denied",
    "legacy-wrapper-magic": "legacy-inner-magic",
}
"""Codes of searches and listings, and the fault that `kdump check` reports in their place; reader_faults has those of readers."""
