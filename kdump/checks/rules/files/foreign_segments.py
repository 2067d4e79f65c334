"""Segments of other brokers: they are not examined, and a finding says so, once for a directory of them."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.binary.java_strings import escaped
from kdump.checks.finding import ByteCoverage
from kdump.checks.wording import counted
from kdump.formats import file_name, foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.context import FileContext
    from kdump.checks.finding import Emit


def check_file(context: FileContext) -> bool:
    """Report a log that is another broker's; False if it may be Kafka's."""
    name = os.path.basename(context.path)
    broker = foreign.broker_of(context.source, name)
    if broker:
        message = f"{escaped(name)} is {foreign.sentence(broker)}."
        context.report("foreign-segment", 0, context.source.size, message, found=broker)
    return bool(broker)


def check_directory(context: FileContext, emit: Emit) -> bool:
    """Report a directory of another broker's segments, and its files as not examined; False if it may be Kafka's."""
    path = context.path
    found = foreign.in_directory(path, is_by_name=True)  # others are recognized one by one
    if found is None:
        return False
    name, broker = found
    files = [entry.name for entry in system.entries(path) if not entry.is_directory and not entry.is_link]
    others = len(files) - 1
    more = f", and so {'is' if others == 1 else 'are'} {counted(others, 'more file')} here" if others > 0 else ""
    context.report("foreign-segment", 0, 0, f"{escaped(name)} is {foreign.sentence(broker)}{more}.", found=broker)
    for file in files:
        size = system.size(os.path.join(path, file))
        file_type = file_name.suffix(file).removeprefix(".") or file
        emit(ByteCoverage(size).report(os.path.join(path, file), file_type, size))
    return True
