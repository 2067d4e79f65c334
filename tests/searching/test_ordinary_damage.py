"""Searches of ordinary logs with ordinary damage, compared with what is known to be left."""

from tests import boring

test_records_are_found_or_said_to_be_damaged = boring.test_of("grep", "where")
