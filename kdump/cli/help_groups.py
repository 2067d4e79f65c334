"""How help screens are divided: the group of each option, and which options only the long form shows."""

from __future__ import annotations

from kdump.cli.options import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

OWN = "Options"
"""The group of what belongs to the command itself: all that no other group has."""

_GROUPS = {
    "What to read": ("topics", "partitions", "file_type", "include_deleted", "follows_links"),
    "Which rows": ("from_offset", "to_offset", "from_time", "to_time", "from_position", "tail", "offset", "limit"),
    "Keys and values": ("decode", "key_decoder", "value_decoder", "schemas", "decoder_command", "prints_data", "skips_metadata"),
    "Output": ("output", "file", "is_quiet", "shows_all", "max_findings", "csv_formulas", "color", "release", "is_strict"),
    "Speed, and beside a running broker": ("jobs", "is_nice", "rate", "time_limit", "target_bytes"),
}
_RARE = frozenset(
    (
        "color",
        "conf",
        "csv_formulas",
        "decoder_command",
        "follows_links",
        "from_position",
        "is_pedantic",
        "is_strict",
        "max_findings",
        "max_message_bytes",
        "release",
        "savings",
        "skips_metadata",
        "target_bytes",
        "time_limit",
    )
)


def groups_of(options: Iterable[Option], *, is_long: bool = True) -> dict[str, list[Option]]:
    """Options by the titles of their groups, in the order of the screen; without those that only the long form shows."""
    shown = [option for option in options if option.names and (is_long or option.name not in _RARE)]
    group_of = {name: group for group, names in _GROUPS.items() for name in names}
    titles = (OWN, *_GROUPS)
    found = {title: [option for option in shown if group_of.get(option.name, OWN) == title] for title in titles}
    return {title: of_group for title, of_group in found.items() if of_group}
