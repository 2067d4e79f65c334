"""The stream reader of the data source `kdump`: the batches and records that logs gain, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kdump.pipeline import growth
from kdump.pipeline.growth import End
from kdump.pipeline.options import Options
from kdump.spark.brief_errors import brief_errors
from kdump.spark.columns import as_spark_has_it

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from kdump.pipeline.growth import Ends, Step
    from kdump.spark.columns import Fields


class StepPartition(InputPartition):
    """A task of a micro-batch."""

    def __init__(self, step: Step) -> None:
        super().__init__(None)
        self.step = step


class KdumpStreamReader(DataSourceStreamReader):
    """Reads what logs gain. The ends of partitions are the offsets that Spark keeps as JSON, to replay what was not finished."""

    def __init__(self, given: dict[str, str], fields: Fields) -> None:
        self._given = given
        self._fields = fields
        self._known: Ends = {}

    def initialOffset(self) -> dict[str, list[int]]:  # noqa: N802  # Spark calls it so
        return {}

    @brief_errors()
    def latestOffset(self) -> dict[str, list[int]]:  # type: ignore[override]  # noqa: N802  # as before 4.2, and understood since
        """The ends of all partitions now."""
        self._known = growth.ends(Options(self._given), self._known)
        return {directory: list(end) for directory, end in self._known.items()}

    @brief_errors()
    def partitions(self, start: dict[str, list[int]], end: dict[str, list[int]]) -> Sequence[InputPartition]:
        return [StepPartition(step) for step in growth.steps(Options(self._given), _ends(start), _ends(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, StepPartition)
        with brief_errors():
            yield from as_spark_has_it(growth.read(partition.step, self._given), self._fields)


def _ends(offsets: dict[str, list[int]]) -> Ends:
    return {directory: End(*numbers) for directory, numbers in offsets.items()}
