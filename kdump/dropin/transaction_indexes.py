"""Dumps transaction indexes (`.txnindex`)."""

from __future__ import annotations

from kdump.binary.source import Source
from kdump.dropin.tool import absolute, coded
from kdump.errors import CorruptData, Unreadable
from kdump.formats import file_name, transaction_index
from kdump.formats.transaction_index import VERSION
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.dropin.joptsimple import Arguments
    from kdump.dropin.tool import DumpTool


def dump(tool: DumpTool, path: str, name: str, _arguments: Arguments) -> None:
    """Dump one index. As in the tool, all of it is read before the first line. Raises Fault where the tool throws."""
    file_name.base_offset(name)
    try:
        source = Source(path)
    except Unreadable as error:
        if error.code == "file-missing":
            return  # the tool opens it for writing, and finds nothing in it
        codes = {"file-is-directory": "file-is-directory-written", "file-permission": "file-permission-read"}
        raise coded(error, codes.get(error.code, error.code))
    line = "".join(tool.profile.transaction_line)
    lines: list[str] = []
    with source:
        for table in transaction_index.read(source):
            versions, least = table["version"], VERSION
            if tool.profile.transaction_version_is_a_byte:
                versions = [version >> 8 for version in versions]
                least = min(versions)
            version = next((version for version in versions if not least <= version <= VERSION), None)
            if version is not None:
                message = f"version {version} is not known"
                raise CorruptData("transaction-version-unknown", message, path=absolute(path), version=version)
            lines += tool.text.rows(line, Table(table.row_class, {**table.columns, "version": versions}))
    tool.out.write("".join(lines))
