"""Runs the real tool of any Kafka release, for comparison with kdump."""

from tests.oracle.kafka_tool import Answer, Run, fetch, run_many, why_not_available

__all__ = ["Answer", "Run", "fetch", "run_many", "why_not_available"]
