"""Charts of a partition, as SVG that is readable without a script, with the numbers for one."""

from __future__ import annotations

import json

from kdump.output.html.elements import Html, element
from kdump.output.rows.layout import time_text
from kdump.output.text.sizes import size_text
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.overview.partition_map import PartitionMap

_BUCKETS = 150
WIDTH, HEIGHT = 1000, 140


class Chart(Declared):
    """Sizes over time, or times over bytes. Times are milliseconds."""

    title: str
    xs: Sequence[int]
    ys: Sequence[int]
    is_of_sizes: bool
    """Whether `xs` are times and `ys` sizes; else it is the other way round."""

    @property
    def has_line(self) -> bool:
        """Whether there is something to draw."""
        return len(self.xs) >= 2 and self.xs[0] != self.xs[-1]

    @property
    def ends(self) -> str:
        """From where to where it goes, in words."""
        x_text, y_text = (moment_text, size_text) if self.is_of_sizes else (size_text, moment_text)
        return f"{x_text(self.xs[0])} to {x_text(self.xs[-1])}; up to {y_text(max(self.ys))}"

    def drawing(self, **attributes: object) -> Html:
        """The line; of sizes, with what is below it."""
        low, high = (0 if self.is_of_sizes else min(self.ys)), max(max(self.ys), 1)
        left, wide, tall = self.xs[0], WIDTH / (self.xs[-1] - self.xs[0]), (HEIGHT - 4) / max(high - low, 1)
        points = [f"{(x - left) * wide:.1f},{HEIGHT - 2 - (y - low) * tall:.1f}" for x, y in zip(self.xs, self.ys, strict=True)]
        line = "L".join(points)
        return element(
            "svg",
            element("path", d=f"M0,{HEIGHT}L{line}L{WIDTH},{HEIGHT}z", class_="filled")
            if self.is_of_sizes
            else element("path", d=f"M{line}", class_="line"),
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            preserveAspectRatio="none",
            role="img",
            aria_label=f"{self.title}: {self.ends}",
            **attributes,
        )

    def figure(self) -> Html:
        """The drawing with its caption, and its numbers, of which a script makes a chart to zoom into. Empty without a line."""
        if not self.has_line:
            return Html()
        numbers = json.dumps({"x": list(self.xs), "y": list(self.ys), "isTime": self.is_of_sizes})
        data = element("script", Html(numbers), type="application/json")
        caption = element("figcaption", f"{self.title}. ", element("small", self.ends))
        return element("figure", caption, self.drawing(), data, class_="chart")


def bytes_over_time(made: PartitionMap) -> Chart:
    """When the batches of a partition are from: moments, and the bytes from each to the next."""
    title = "Bytes of batches over time"
    timed = [
        (one.oldest_timestamp, one.newest_timestamp, one.end - one.start)
        for spans in made.spans.values()
        for one in spans
        if one.oldest_timestamp is not None and one.newest_timestamp is not None
    ]
    if not timed:
        return Chart(title, [], [], is_of_sizes=True)
    first, last = min(one[0] for one in timed), max(one[1] for one in timed)
    width = max((last - first) / _BUCKETS, 1)
    sums = [0.0] * _BUCKETS
    for oldest, newest, size in timed:
        low, high = (min(int((time - first) / width), _BUCKETS - 1) for time in (oldest, newest))
        for bucket in range(low, high + 1):
            sums[bucket] += size / (high - low + 1)
    return Chart(title, [round(first + number * width) for number in range(_BUCKETS)], list(map(round, sums)), is_of_sizes=True)


def times_in_order(made: PartitionMap) -> Chart:
    """The newest timestamps of a partition against the bytes before them, in the order of its logs."""
    places: list[int] = []
    times: list[int] = []
    before = 0
    for segment in made.segments:
        for span in made.spans[segment.log]:
            if span.newest_timestamp is not None:
                places.append(before + span.end)
                times.append(span.newest_timestamp)
        before += segment.size
    step = max(len(places) // (2 * _BUCKETS), 1)
    return Chart("Newest timestamps in the order of the log", places[::step], times[::step], is_of_sizes=False)


def moment_text(milliseconds: int) -> str:
    """A moment as people read it."""
    return f"{time_text(milliseconds)} UTC"
