"""Checks of ordinary logs with ordinary damage, compared with what is known to be left."""

from tests import boring

test_a_check_tells_what_is_lost_and_where = boring.test_of("check")
