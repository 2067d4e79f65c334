"""Deliberate errors that the tests must notice, in the order of their files."""

from tests.campaigns.mutation import Mutation

_GOLDENS = "tests/test_goldens.py::test_kdump_prints_what_kafka_prints"

MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        id="severity-of-tail",
        file="kdump/checks/rules/framing.py",
        old="return WARNING if context.is_newest else ERROR",
        new="return WARNING",
        tests=("tests/faults/test_faults.py::test_a_fault_is_found_where_its_builder_says",),
    ),
    Mutation(
        id="n09",
        file="kdump/cli/forecasting/run.py",
        old="self._is_safe &= all(",
        new="self._is_safe = all(",
        tests=("tests/test_forecast.py::test_one_directory_that_loses_data_is_enough_for_exit_code_1",),
    ),
    Mutation(
        id="12",
        file="kdump/forecasts/leftovers.py",
        old="not (rules.keeps_deleted_checkpoints and",
        new="not (not rules.keeps_deleted_checkpoints and",
        tests=("tests/test_forecast.py::test_a_checkpoint_marked_as_deleted_goes_in_2_8_and_stays_later",),
    ),
    Mutation(
        id="15",
        file="kdump/forecasts/outcome.py",
        old='note(name, "truncated", before[name], file.size)',
        new='note(name, "truncated", before[name], before[name])',
        tests=("tests/test_forecast.py::test_an_unclean_start_cuts_at_the_first_bad_batch_and_deletes_later_segments",),
    ),
    Mutation(
        id="n12",
        file="kdump/forecasts/outcome.py",
        old='note(name, "deleted", before[name], None)',
        new="pass",
        tests=("tests/test_forecast.py::test_files_that_go_and_logs_that_are_made_are_among_the_files",),
    ),
    Mutation(
        id="n13",
        file="kdump/forecasts/outcome.py",
        old='note(name, "created", None, file.size)',
        new="pass",
        tests=("tests/test_forecast.py::test_files_that_go_and_logs_that_are_made_are_among_the_files",),
    ),
    Mutation(
        id="n10",
        file="kdump/forecasts/recovery.py",
        old="if valid_bytes - last_indexed > settings.index_interval:",
        new="if valid_bytes - last_indexed >= settings.index_interval:",
        tests=("tests/test_forecast.py::test_an_index_entry_is_made_after_more_than_the_interval_and_not_after_just_that",),
    ),
    Mutation(
        id="n35",
        file="kdump/releases/decoder_words.py",
        old='HAS_UNIQUE_INSTANCES = {FIRST: False, "3.0.0": True}',
        new='HAS_UNIQUE_INSTANCES = {FIRST: False, "3.0.1": True}',
        tests=(f"{_GOLDENS}[c-kernel-consumer-offsets-group-versions]",),
    ),
    Mutation(
        id="33",
        file="kdump/releases/history.py",
        old='ZSTD_TRUSTS_BLOCK_SIZES = {FIRST: True, "2.4.0": False}',
        new='ZSTD_TRUSTS_BLOCK_SIZES = {FIRST: True, "2.4.1": False}',
        tests=(f"{_GOLDENS}[c-kernel-magic2-zstd-blocks-larger-than-window]",),
    ),
    Mutation(
        id="36",
        file="kdump/releases/history.py",
        old='MARKER_SIZE_IS_CHECKED_FIRST = {FIRST: True, "4.1.0": False}',
        new='MARKER_SIZE_IS_CHECKED_FIRST = {FIRST: True, "4.0.2": False}',
        tests=(f"{_GOLDENS}[c-kernel-magic2-control-marker-short-version-minus-1]",),
    ),
)
