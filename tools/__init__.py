"""Programs for those who work on kdump: no part of what is installed."""
