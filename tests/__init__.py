"""The tests of kdump, with what they share."""
