"""The classes that `kdump.open` returns."""
