"""Checks of files against the rules of their formats, and against one another."""
