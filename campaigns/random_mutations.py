"""Random errors for the campaign of mutations, made by the operators of Cosmic Ray in all packages but `spark`."""

import ast
import random
from collections.abc import Iterator, Sequence

from campaigns.mutation import ROOT, Mutation

LEFT_OUT = ("__init__.py", "kdump/spark/")
"""What random errors leave out: modules of nothing but imports, and what only tests with a Spark session see."""

TESTS = {
    "kdump/": ("tests/test_tables.py", "tests/checks/test_check.py", "tests/cli/test_commands.py"),
    "kdump/binary/": ("tests/binary", "tests/formats"),
    "kdump/cli/mending/": ("tests/mending",),
    "kdump/cli/searching/": ("tests/searching",),
    "kdump/decoders/": ("tests/decoders", "tests/cli/test_decoding.py"),
    "kdump/dropin/": ("tests/dropin", "tests/releases"),
    "kdump/formats/": ("tests/formats", "tests/library"),
    "kdump/library/": ("tests/library",),
    "kdump/mending/": ("tests/mending",),
    "kdump/messages/": ("tests/messages", "tests/decoders"),
    "kdump/output/": ("tests/output", "tests/cli/test_commands.py"),
    "kdump/releases/": ("tests/releases", "tests/dropin"),
    "kdump/schemas/": ("tests/schemas", "tests/registries"),
    "kdump/searching/": ("tests/searching", "tests/campaigns/test_searches.py"),
    "kdump/verdicts/": ("tests/verdicts",),
    "kdump/workers/": ("tests/workers", "tests/checks/test_check_processes.py"),
    "kdump/checks/": (
        "tests/checks/faults",
        "tests/reading/test_salvage.py",
        "tests/checks/test_check_records.py",
        "tests/checks/test_producers_in_checks.py",
    ),
    "kdump/checks/check.py": ("tests/checks/faults", "tests/checks/test_check.py"),
    "kdump/checks/packed_ints.py": ("tests/checks/test_packed_ints.py", "tests/checks/faults"),
    "kdump/checks/finding.py": ("tests/checks/faults", "tests/checks/test_check.py"),
    "kdump/checks/index_summary.py": ("tests/checks/test_index_rules.py", "tests/checks/faults"),
    "kdump/checks/check_processes.py": ("tests/checks/test_check_processes.py",),
    "kdump/dropin/before_0_11/message_index.py": ("tests/releases/test_releases.py", "tests/formats/test_indexes.py"),
    "kdump/dropin/offset_comparison.py": ("tests/formats/test_indexes.py", "tests/checks/faults"),
    "kdump/checks/producers.py": ("tests/checks/test_producers_in_checks.py", "tests/checks/faults"),
    "kdump/checks/rules/": (
        "tests/checks/faults",
        "tests/checks/test_check_records.py",
        "tests/checks/test_producers_in_checks.py",
    ),
    "kdump/checks/rules/indexes/offset_index.py": ("tests/checks/faults", "tests/checks/test_index_rules.py"),
    "kdump/checks/rules/indexes/time_index.py": ("tests/checks/faults", "tests/checks/test_index_rules.py"),
    "kdump/dropin/time_comparison.py": ("tests/formats/test_indexes.py", "tests/checks/faults"),
    "kdump/checks/live_source.py": ("tests/checks/test_check_processes.py", "tests/checks/faults"),
    "kdump/cli/": ("tests/checks/test_check.py", "tests/cli/test_commands.py", "tests/cli/test_scan.py"),
    "kdump/cli/checking/": ("tests/checks/test_check.py",),
    "kdump/cli/forecasting/": ("tests/forecasts/test_forecast.py",),
    "kdump/cli/listing/": ("tests/cli/test_commands.py",),
    "kdump/cli/main.py": ("tests/dropin/test_jobs.py", "tests/checks/test_check.py"),
    "kdump/cli/scanning/": ("tests/cli/test_scan.py",),
    "kdump/forecasts/": ("tests/forecasts/test_forecast.py",),
    "kdump/output/arrow/": (
        "tests/output/test_arrow.py",
        "tests/test_tables.py",
        "tests/pipeline/test_pipeline.py",
        "tests/cli/test_commands.py",
    ),
    "kdump/output/rows/csv.py": ("tests/output/test_outputs.py", "tests/cli/test_commands.py"),
    "kdump/output/rows/decoded.py": ("tests/cli/test_decoding.py", "tests/cli/test_listing.py", "tests/cli/test_commands.py"),
    "kdump/output/check.py": ("tests/output/test_check_output.py", "tests/checks/test_check.py"),
    "kdump/output/junit.py": ("tests/output/test_check_output.py", "tests/checks/test_check.py"),
    "kdump/output/sarif.py": ("tests/output/test_check_output.py", "tests/checks/test_check.py"),
    "kdump/output/text/check/": (
        "tests/output/test_check_output.py",
        "tests/output/test_advice.py",
        "tests/checks/test_check.py",
    ),
    "kdump/output/text/forecast": ("tests/output/test_forecast_output.py", "tests/forecasts/test_forecast.py"),
    "kdump/output/rows/json": ("tests/output/test_outputs.py", "tests/output/test_check_output.py"),
    "kdump/forecasts/sentences.py": ("tests/output/test_forecast_output.py", "tests/forecasts/test_forecast.py"),
    "kdump/output/forecast.py": ("tests/output/test_forecast_output.py", "tests/forecasts/test_forecast.py"),
    "kdump/output/rows/listing.py": ("tests/cli/test_listing.py", "tests/output/test_outputs.py", "tests/cli/test_commands.py"),
    "kdump/output/rows/ndjson.py": ("tests/output/test_outputs.py", "tests/cli/test_commands.py"),
    "kdump/output/kafka/reports.py": ("tests/output/test_report.py", "tests/releases/test_releases.py"),
    "kdump/pipeline/": ("tests/pipeline/test_pipeline.py", "tests/cli/test_scan.py"),
    "kdump/pipeline/reconciliation.py": ("tests/pipeline/test_reconciliation.py",),
    "kdump/pipeline/slice_report.py": ("tests/pipeline/test_reconciliation.py", "tests/pipeline/test_pipeline.py"),
    "kdump/reading/": ("tests/reading/test_salvage.py", "tests/checks/faults"),
}
"""The tests for a module, the likeliest first; the longest matching name applies."""

_LEFT_OUT = (
    "(python-kernel and not test_index and not test_column)",  # one kernel is enough, but for what does not use the one in C
    "interrupt",  # waits
    "builder_says",
    "every_byte",  # the snapshots of the same cases hold all that these compare
    "2.8.2",
    "3.9.1",  # of the recorded starts, one release is enough
)
OPTIONS = ("-k", " and ".join(f"not {name}" for name in _LEFT_OUT), "-m", "not spark")
"""The arguments of pytest, which leave out redundant tests."""

OPERATORS = (
    *("AddNot", "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub", "ReplaceUnaryOperator_USub_UAdd"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop", "ExceptionReplacer", "NumberReplacer"),
    *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_Lt_Gt"),
    *("ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_LtE_Gt"),
    *("ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_Gt_Lt"),
    *("ReplaceComparisonOperator_GtE_Gt", "ReplaceComparisonOperator_GtE_Lt"),
    *("ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_Eq_LtE", "ReplaceComparisonOperator_Eq_GtE"),
    *("ReplaceComparisonOperator_NotEq_Eq", "ReplaceComparisonOperator_NotEq_Lt", "ReplaceComparisonOperator_NotEq_Gt"),
    *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
    *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add", "ReplaceBinaryOperator_Mul_FloorDiv"),
    *("ReplaceBinaryOperator_FloorDiv_Mul", "ReplaceBinaryOperator_Mod_FloorDiv"),
    *("ReplaceBinaryOperator_BitAnd_BitOr", "ReplaceBinaryOperator_BitOr_BitAnd"),
    *("ReplaceBinaryOperator_LShift_RShift", "ReplaceBinaryOperator_RShift_LShift"),
)
"""Operators of Cosmic Ray, without those whose errors all tests see, such as `/` for `+`, or none can, such as `is` for `==`."""


def modules(pattern: str | None = None) -> list[str]:
    """All modules, or those that match a pattern or folder, in order."""
    patterns = ("kdump/**/*.py",) if pattern is None else (pattern, f"{pattern.rstrip('/')}/**/*.py")
    found = {path.relative_to(ROOT).as_posix() for one in patterns for path in ROOT.glob(one) if path.suffix == ".py"}
    return sorted(name for name in found if not name.startswith(LEFT_OUT[1:]) and not name.endswith(LEFT_OUT[0]))


def tests_of(module: str) -> tuple[str, ...]:
    """The tests for a module."""
    return TESTS[max((name for name in TESTS if module.startswith(name)), key=len)]


def mutations(count: int, seed: int, names: Sequence[str]) -> list[Mutation]:
    """A number of mutations of these modules, chosen uniformly from all that the operators can make.

    They depend only on the seed and the modules; a larger count starts with the same ones.
    """
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    places = [(module, *place) for module in names for place in _places((ROOT / module).read_text("utf-8"))]
    random.Random(seed).shuffle(places)
    made = []
    for module, operator, occurrence, line in places[:count]:
        text = (ROOT / module).read_text("utf-8")
        changed = mutate_code(text, get_operator(f"core/{operator}")(), occurrence)
        made.append(Mutation(f"{module}:{line}:{operator}:{occurrence}", module, text, changed, tests_of(module)))
    return made


def _places(text: str) -> Iterator[tuple[str, int, int]]:
    """Where the operators can change something but what is there for types only: operator, its occurrence, line."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    annotations = list(_annotations(ast.parse(text)))
    nodes = list(ast_nodes(get_ast(text)))
    for_types = {row for row, line in enumerate(text.splitlines(), start=1) if line.startswith("TYPE_CHECKING = ")}
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        positions = (begin for node in nodes for begin, _ in operator.mutation_positions(node))
        for occurrence, (line, column) in enumerate(positions):
            if line not in for_types and not any(begin <= (line, column) < end for begin, end in annotations):
                yield name, occurrence, line


def _annotations(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for node in ast.walk(tree):
        hint = getattr(node, "annotation", None) or getattr(node, "returns", None)
        if isinstance(hint, ast.expr):
            yield (hint.lineno, hint.col_offset), (hint.end_lineno or 0, hint.end_col_offset or 0)
