"""Tests of the library: what `kdump` offers to Python programs."""
