"""The real tool of any Kafka release, to compare kdump with."""

from tests.oracle.kafka_tool import Answer, Run, fetch, run_many, why_not_available

__all__ = ["Answer", "Run", "fetch", "run_many", "why_not_available"]
