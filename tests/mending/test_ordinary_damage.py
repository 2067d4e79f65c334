"""Copies of ordinary logs with ordinary damage, compared with what is known to be left."""

from tests import boring

test_copies_have_what_is_intact = boring.test_of("recover", "slice", "reindex")
