"""Listings of parts of ordinary logs with ordinary damage, compared with what is known to be left."""

from tests import boring

test_parts_of_a_log_are_listed = boring.test_of("parts")
