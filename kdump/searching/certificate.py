"""Certificates of a search: which files were searched for what, so that others can see whether these are still the files."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import kdump
from kdump.binary import system
from kdump.binary.paths import absolute, is_url, parent
from kdump.binary.source import Source
from kdump.errors import KdumpError, Unreadable, UsageError
from kdump.output.rows.hits import ABSENT, CHANGED, FOUND, MISSING, NEW, NOT_PROVEN, SAME, UNREADABLE, VerifiedFile
from kdump.schemas import collection, topic
from kdump.searching.digests import digest
from kdump.searching.places import Places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kdump.searching.grep import Search

KIND = "kdump-grep-certificate"
VERSION = 1
_MAX_BYTES = 1 << 30
_DIGEST = "certificateSha256"


def made(search: Search, paths: Sequence[str], options: dict[str, object]) -> dict[str, Any]:
    """The certificate of a search that has ended; `options` say what was searched for."""
    verdict = search.verdict
    body: dict[str, Any] = {
        "kind": KIND,
        "version": VERSION,
        "kdump": kdump.__version__,
        "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "verdict": verdict.verdict,
        "hits": verdict.hits,
        "options": options,
        "paths": [absolute(path) for path in paths],
        "bytes": verdict.bytes,
        "batches": verdict.batches,
        "records": verdict.records,
        "claimedRecords": verdict.claimed_records,
        "unknownFields": verdict.unknown_fields,
        "files": [
            {
                "path": absolute(file.file),
                "size": file.size,
                "sha256": file.sha256,
                "state": file.state,
                "batches": file.batches,
                "records": file.records,
                "claimedRecords": file.claimed_records,
                "firstOffset": file.first_offset,
                "lastOffset": file.last_offset,
                "hits": file.hits,
            }
            for file in search.files
        ],
        "notRead": [
            {
                "file": absolute(gap.file),
                "start": gap.start,
                "end": gap.end,
                "offset": gap.offset,
                "nextOffset": gap.next_offset,
                "code": gap.code,
                "message": gap.message,
            }
            for gap in search.not_read
        ],
    }
    if search.schemas is not None:
        body["schemas"] = {"places": search.schemas.places, "files": search.schemas.files}
    body[_DIGEST] = _digest_of(body)
    return body


def pattern_option(pattern: bytes | None) -> object:
    """A pattern as it stands in a certificate: text, or Base64 where it is not UTF-8."""
    if pattern is None:
        return None
    try:
        return pattern.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(pattern).decode()}


def read(path: str) -> dict[str, Any]:
    """The certificate in a file. Raises UsageError if it is none, or was altered, and Unreadable."""
    with Source(path) as source:
        if source.size > _MAX_BYTES:
            raise UsageError(f"{path} is too large for a certificate")
        data = source.read(0, source.size)
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no certificate of kdump grep") from error
    if not isinstance(body, dict) or body.get("kind") != KIND or body.get("version") != VERSION:
        raise UsageError(f"{path} is no certificate of kdump grep of version {VERSION}")
    if body.get(_DIGEST) != _digest_of({name: value for name, value in body.items() if name != _DIGEST}):
        raise UsageError(f"{path} was altered: its digest does not match")
    if not _is_sound(body):
        raise UsageError(f"{path} is no certificate that kdump wrote: its fields are malformed, or contradict one another")
    return body


def _is_sound(body: dict[str, Any]) -> bool:
    """Whether a certificate has the fields that are verified, and its sums and its verdict are those of its files."""
    files, gaps, schemas = body.get("files"), body.get("notRead"), body.get("schemas", {"places": [], "files": []})
    if not isinstance(schemas, dict) or not all(isinstance(rows, list) for rows in (files, gaps, schemas.get("files"))):
        return False
    assert files is not None and gaps is not None
    if not all(map(_is_file, (*files, *schemas["files"]))):
        return False
    if not all(isinstance(gap, dict) and _is_path(gap.get("file")) for gap in gaps):
        return False
    if not all(isinstance(paths, list) and all(map(_is_path, paths)) for paths in (body.get("paths"), schemas.get("places"))):
        return False
    sums = {name: name for name in ("batches", "records", "claimedRecords", "hits")} | {"bytes": "size"}
    if not body["paths"] or any(body.get(name) != sum(file.get(of, 0) for file in files) for name, of in sums.items()):
        return False
    verdict = FOUND if body["hits"] else NOT_PROVEN if gaps or not files or body.get("unknownFields") else ABSENT
    return body.get("verdict") == verdict


def _is_file(file: object) -> bool:
    if not isinstance(file, dict) or not _is_path(file.get("path")):
        return False
    counts = [file.get("size"), *(file.get(name, 0) for name in ("batches", "records", "claimedRecords", "hits"))]
    digest = file.get("sha256")
    return all(type(count) is int and count >= 0 for count in counts) and "sha256" in file and isinstance(digest, str | None)


def _is_path(path: object) -> bool:
    if not isinstance(path, str) or "\0" in path or not (os.path.isabs(path) or is_url(path)):
        return False
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def verified(certificate: dict[str, Any], paths: Sequence[str] = ()) -> Iterator[VerifiedFile]:
    """Each file of a certificate, and each file that is new below its paths or among its schemas.

    `paths` are where the paths of the certificate are now, in their order.

    Raises UsageError if their number is another.
    """
    roots: list[str] = certificate["paths"]
    if paths and len(paths) != len(roots):
        raise UsageError(f"the certificate is about {len(roots)} paths: {', '.join(roots)}", remedy="name as many, in this order")
    now = dict(zip(roots, map(absolute, paths), strict=True)) if paths else {root: root for root in roots}
    known = {_moved(file["path"], now): file for file in certificate["files"]}
    schemas = certificate.get("schemas", {"places": [], "files": []})
    known |= {_moved(file["path"], now): file for file in schemas["files"]}
    for path, file in known.items():
        yield _compared(path, file)
    missed = {_moved(gap["file"], now) for gap in certificate["notRead"]}
    new = {found.file: found for found in _new_files(list(now.values()), known.keys() | missed)}
    new |= {
        found.file: found for found in _new_schemas([_moved(place, now) for place in schemas["places"]], known.keys() | missed)
    }
    yield from new.values()


def _moved(path: str, roots: dict[str, str]) -> str:
    """Where a file is now."""
    for root, place in roots.items():
        if path == root or path.startswith(root.rstrip(os.sep) + os.sep):
            return place + path[len(root) :]
    for root, place in roots.items():  # a registry's topic is beside a partition, and not below it
        for beside, now in ((root, place), (parent(root), parent(place))):
            registry = os.path.join(parent(beside), topic.NAME)
            if path == registry or path.startswith(registry + os.sep):
                return os.path.join(parent(now), topic.NAME) + path[len(registry) :]
    return path


def _compared(path: str, file: dict[str, Any]) -> VerifiedFile:
    try:
        with Source(path) as source:
            if source.size != file["size"]:
                return VerifiedFile(path, CHANGED, source.size, f"its size was {file['size']:,} bytes")
            is_same = digest(source) == file["sha256"]
            return VerifiedFile(path, SAME if is_same else CHANGED, source.size, None if is_same else "its SHA-256 differs")
    except Unreadable as error:
        status = MISSING if error.code == "file-missing" else UNREADABLE
        return VerifiedFile(path, status, None, error.message)


def _new_files(roots: list[str], known: set[str]) -> Iterator[VerifiedFile]:
    """The logs that are there now, and were not."""
    there = [root for root in roots if system.has_name(root)]
    if not there:
        return
    places = Places(there, is_proof=True)
    for item in places.logs:
        if absolute(item.path) not in known:
            yield VerifiedFile(item.path, NEW, item.size, "it was not there")
    for found in places.unsearched:
        if absolute(found.path) not in known:
            yield VerifiedFile(found.path, UNREADABLE, None, found.message)


def _new_schemas(places: list[str], known: Collection[str]) -> Iterator[VerifiedFile]:
    """The schema files that are there now, and were not."""
    for place in places:
        try:
            for path in collection.files_at(place):
                if path not in known:
                    with Source(path) as source:
                        yield VerifiedFile(path, NEW, source.size, "it was not there")
        except KdumpError as error:
            yield VerifiedFile(place, UNREADABLE, None, error.message)


def _digest_of(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
