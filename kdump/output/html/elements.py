"""Elements of HTML. Any text becomes HTML in one place, `shown`, which escapes it."""

from __future__ import annotations

import html
from importlib.resources import files

from kdump.binary.java_strings import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_LONG = 25  # characters of a cell, which may be broken


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def shown(value: object) -> Html:
    """A value as HTML: what is not `Html` is escaped, and so are control characters; None is a dash."""
    if isinstance(value, Html):
        return value
    if value is None:
        return Html("–")
    return Html(html.escape(escaped(f"{value:,}" if type(value) is int else str(value))))


def joined(parts: Iterable[object], between: str = "") -> Html:
    """Parts after one another."""
    return Html(between.join(map(shown, parts)))


def element(name: str, *children: object, **attributes: object) -> Html:
    """An element. Attributes that are None are left out; `class_` is `class`, and other `_` are `-`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{shown(str(value))}"' for key, value in attributes.items() if value is not None
    )
    return Html(f"<{name}{given}>{joined(children)}</{name}>")


def table(caption: object, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table with a caption. Numbers stand to the right; the first cell of a row is its heading. Empty without rows."""
    lines = []
    for row in rows:
        cells = [element("th", row[0], scope="row")]
        cells += [element("td", cell, class_=_class_of(cell)) for cell in row[1:]]
        lines.append(element("tr", *cells))
    if not lines:
        return Html()
    head = joined(element("th", heading, scope="col") for heading in headings)
    inside = element("table", element("caption", caption), element("thead", element("tr", head)), element("tbody", *lines))
    return element("div", inside, class_="scroll", tabindex="0", role="region", aria_label=str(html.unescape(shown(caption))))


def _class_of(cell: object) -> str | None:
    if type(cell) is int:
        return "n"
    return "long" if not isinstance(cell, Html) and len(str(cell)) > _LONG else None


def link(target: str, text: object) -> Html:
    """A link within the page."""
    return element("a", text, href=f"#{target}")


def asset(name: str) -> Html:
    """A file of this package, as it is."""
    return Html(files(__package__).joinpath(name).read_text(encoding="utf-8"))
