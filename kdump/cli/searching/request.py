"""What one invocation of `kdump grep` asks for."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.given_bytes import given_bytes, of_text
from kdump.cli import schema_options
from kdump.cli.missing_paths import require_there
from kdump.cli.shared_options import ESCAPE, STDIN, range_of
from kdump.errors import UsageError
from kdump.formats.selection import selected
from kdump.releases.known import require_known
from kdump.searching.decoding import Decoding
from kdump.searching.fields import DEFAULT_FIELDS, FIXED, HEX, PROOF_FIELDS, REGEX
from kdump.searching.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kdump.cli.searching.options import GrepOptions

_MAX_CONTEXT = 1000


class GrepRequest:
    """One invocation of `kdump grep`. Raises UsageError."""

    def __init__(self, options: GrepOptions) -> None:
        self.options = options
        self.output = options.output
        require_known(options.release)
        self.escapes_formulas = options.csv_formulas == ESCAPE
        kinds = [
            kind for kind, is_given in ((FIXED, options.is_fixed), (REGEX, options.is_regex), (HEX, options.is_hex)) if is_given
        ]
        if len(kinds) > 1:
            raise UsageError("-F, -E and --hex do not go together")
        self.kind = kinds[0] if kinds else FIXED
        self._refuse_combinations()
        self.pattern, self.paths = self._words()
        names = [name.strip() for name in options.fields.split(",") if name.strip()]
        self.fields: Sequence[str] = names or (PROOF_FIELDS if options.proves_absence else DEFAULT_FIELDS)
        is_bare = self.pattern is None and not self._has_condition
        if is_bare and options.partition_count is None:
            raise UsageError("nothing to look for", remedy="give a PATTERN, or a condition such as --key or --tombstones")
        self.query = Query(
            self.pattern,
            self.kind,
            ignores_case=options.ignores_case,
            fields=self.fields,
            key=None if options.key is None else given_bytes(options.key, is_hex=options.is_hex),
            headers=[self._header(text) for text in options.headers],
            json=options.where,
            is_tombstone=options.is_tombstone,
            producer_id=options.producer,
            range=range_of(options),
            misplaced_of=options.partition_count if is_bare else None,
        )

    def decoding(self, spooled: Collection[str]) -> Decoding | None:
        """How keys and values are decoded; None if they are not. `spooled` are files in the place of stdin. Raises UsageError."""
        options = self.options
        for option, given in (("--key-decoder", options.key_decoder), ("--value-decoder", options.value_decoder)):
            if given is not None:
                schema_options.kind_of(option, given)
        decoding = Decoding(
            key=options.key_decoder or "",
            value=options.value_decoder or "",
            schemas=options.schemas,
            command=options.decoder_command,
            spooled=spooled,
        )
        if options.decode == "none" and decoding.is_asked_for:
            raise UsageError("--decode none decodes nothing", remedy="leave it out")
        if self.output == "kafka" and decoding.is_asked_for and not self.query.needs_decoding:
            raise UsageError("Kafka's lines show keys and values as they are, not by schemas", remedy="--output ndjson decodes")
        return None if options.decode == "none" else decoding

    def _refuse_combinations(self) -> None:
        options = self.options
        if options.counts and options.lists_files:
            raise UsageError("--count and --files-with-matches do not go together")
        if options.context > _MAX_CONTEXT:
            raise UsageError(f"--context can be {_MAX_CONTEXT} at most")
        if options.certificate is not None and not options.proves_absence:
            raise UsageError("--certificate goes with --prove-absent")
        if self.output == "parquet" and (options.file is None or options.counts or options.lists_files):
            raise UsageError("parquet holds matches, and needs a file: --output parquet -o FILE")

    @property
    def _has_condition(self) -> bool:
        options = self.options
        return options.key is not None or bool(
            options.headers or options.where or options.is_tombstone or options.producer is not None
        )

    def _words(self) -> tuple[bytes | None, Sequence[str]]:
        """The pattern and the paths. The first word is the pattern, unless -e or a condition makes all of them paths."""
        options, words = self.options, self.options.paths
        has_other = options.pattern is not None or self._has_condition or options.partition_count is not None
        if has_other and words and not _leads_somewhere(words[0]):
            why = "-e PATTERN" if options.pattern is not None else "a condition such as --key"
            raise UsageError(
                f"{words[0]} does not exist; with {why}, all arguments are paths", remedy="give the pattern as -e PATTERN"
            )
        pattern = options.pattern if has_other else words[0] if words else None
        paths: Sequence[str] = words if has_other else words[1:]
        if not paths and words and system.has_name(words[0]):
            remedy = "give a PATTERN before the path, or a condition such as --key"
            raise UsageError(f"nothing to look for in {words[0]}", remedy=remedy)
        if not paths:
            raise UsageError("grep needs a path", remedy="kdump grep PATTERN PATH..., or - for stdin")
        require_there(paths)
        if options.topics is not None or options.partitions is not None:
            paths = selected(paths, options.topics, options.partitions, has_going=options.proves_absence)
        return None if pattern is None else given_bytes(pattern, is_hex=options.is_hex), paths

    def _header(self, text: str) -> tuple[bytes, bytes | None]:
        name, equals, value = text.partition("=")
        return of_text(name), given_bytes(value, is_hex=self.options.is_hex) if equals else None

    def as_options(self) -> dict[str, object]:
        """What was searched for, for a certificate."""
        from kdump.searching.certificate import pattern_option

        options, query = self.options, self.query
        decoders: dict[str, object] = {}
        if query.needs_decoding:
            given = self.decoding(())
            decoders["decode"] = options.decode
            if given is not None:
                decoders |= {"keyDecoder": given.key or None, "valueDecoder": given.value or None}
                decoders |= {"schemas": given.schemas, "decoderCommand": given.command}
        return decoders | {
            "pattern": pattern_option(self.pattern),
            "kind": self.kind,
            "ignoresCase": options.ignores_case,
            "fields": list(self.fields),
            "key": pattern_option(query.key),
            "headers": list(options.headers),
            "json": list(options.where),
            "tombstones": options.is_tombstone,
            "producer": options.producer,
        }


def _leads_somewhere(path: str) -> bool:
    """Whether a word may be a path: it exists, is stdin, or is a pattern of paths."""
    return path == STDIN or any(sign in path for sign in "*?[") or os.sep in path or system.has_name(path)
