"""Programs for people who work on kdump; they are not installed."""
