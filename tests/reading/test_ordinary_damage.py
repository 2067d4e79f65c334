"""Listings of ordinary logs with ordinary damage, compared with what is known to be left."""

from tests import boring

test_what_is_intact_is_listed = boring.test_of("log")
