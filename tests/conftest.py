"""Settings of all tests."""

from hypothesis import settings

# Times vary between machines; what is bounded is measured where it matters.
settings.register_profile("kdump", deadline=None)
settings.load_profile("kdump")
