"""Deliberate errors that the tests must notice, in the order of their files."""

from tests.campaigns.mutation import Mutation

_GOLDENS = "tests/test_goldens.py::test_kdump_prints_what_kafka_prints"

MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        id="digest-order",
        file="kdump/checks/index_digest.py",
        old="if not all(map(lt, offsets, islice(offsets, 1, None)))",
        new="if not all(map(lt, offsets, islice(offsets, 2, None)))",
        tests=("tests/test_index_rules.py::test_an_index_that_agrees_with_a_log_out_of_order_is_out_of_order",),
    ),
    Mutation(
        id="severity-of-tail",
        file="kdump/checks/rules/framing.py",
        old="return WARNING if context.is_newest else ERROR",
        new="return WARNING",
        tests=("tests/faults/test_faults.py::test_a_fault_is_found_where_its_builder_says",),
    ),
    Mutation(
        id="disorder-of-both",
        file="kdump/checks/rules/offset_index.py",
        old='self.context.report(code, start, start + ENTRY_SIZE, "")\n                continue',
        new='self.context.report(code, start, start + ENTRY_SIZE, "")\n                break',
        tests=(
            "tests/test_index_rules.py::test_an_entry_out_of_order_in_both_numbers_is_counted_for_both_beyond_what_is_reported",
        ),
    ),
    Mutation(
        id="order-after-nested",
        file="kdump/checks/rules/order.py",
        old="continue  # payload, perhaps",
        new="break  # payload, perhaps",
        tests=("tests/faults/test_faults.py::test_a_fault_is_found_where_its_builder_says",),
    ),
    Mutation(
        id="last-timestamp-before-zeros",
        file="kdump/checks/rules/time_index.py",
        old="if self.entries.has_zero_tail and not",
        new="if self.entries.has_zero_tail or not",
        tests=("tests/faults/test_faults.py::test_a_fault_is_found_where_its_builder_says",),
    ),
    Mutation(
        id="header-after-window",
        file="kdump/checks/salvage.py",
        old="header[0] > 0x7F or not _may_be_header(",
        new="header[0] < 0x7F or not _may_be_header(",
        tests=("tests/test_salvage.py::test_a_batch_with_a_wrong_offset_is_never_intact_wherever_a_window_ends",),
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
        id="half-padded",
        file="kdump/forecasts/partition_metadata.py",
        old="len(data) in _ID_LENGTHS",
        new="len(data) <= _ID_LENGTHS[1]",
        tests=("tests/test_forecast.py::test_a_topic_id_has_no_padding_or_all_of_it",),
    ),
    Mutation(
        id="padded",
        file="kdump/forecasts/partition_metadata.py",
        old="len(data) in _ID_LENGTHS",
        new="len(data) == _ID_LENGTHS[0]",
        tests=("tests/test_forecast.py::test_a_topic_id_has_no_padding_or_all_of_it",),
    ),
    Mutation(
        id="malformed-line",
        file="kdump/forecasts/partition_metadata.py",
        old="line {row + 1} of {_NAME} is no name",
        new="line {row + 2} of {_NAME} is no name",
        tests=("tests/test_forecast.py::test_the_line_of_partition_metadata_that_ends_a_start_is_named",),
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
