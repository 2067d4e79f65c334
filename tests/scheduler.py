"""Gives units of tests to the processes of pytest-xdist."""

from typing import Any

from xdist.scheduler import LoadScopeScheduling

from tests.units import SPARK, may_follow_spark, unit_of


class Units(LoadScopeScheduling):
    """Gives each process a unit at a time, in the order in which tests are collected.

    Spark, which takes longest, comes first. The process that ran it goes on with what forks no process, and what may follow Spark
    is left to it as long as there is anything else to do. A process alone runs Spark after all that forks.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._after_spark: Any = None  # the process that runs Spark, or has run it
        self._numbers: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget a test that was run, and give its process more if it has little left."""
        nodeid = self.registered_collections[node][item_index]
        units = self.assigned_work[node]
        unit = unit_of(nodeid)
        units[unit].pop(nodeid)
        if not units[unit]:
            del units[unit]
        self._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        unit = self._next_for(node)
        if unit is None:
            node.shutdown()
            return
        if unit == SPARK:
            self._after_spark = node
        tests = self.workqueue.pop(unit)
        self.assigned_work[node][unit] = tests
        self._numbers = self._numbers or {nodeid: number for number, nodeid in enumerate(self.collection or ())}
        node.send_runtest_some([self._numbers[nodeid] for nodeid in tests])

    def _next_for(self, node: Any) -> str | None:
        """The unit that a process is to run next; `None` if others have to run what is left."""
        is_alone = len(self.nodes) == 1
        if SPARK in self.workqueue and not is_alone:
            return SPARK
        is_after_spark = node is self._after_spark
        units: list[str] = list(self.workqueue)
        fitting = [unit for unit in units if may_follow_spark(unit) == is_after_spark]
        if fitting:
            return fitting[0]
        return None if is_after_spark and not is_alone else units[0]
