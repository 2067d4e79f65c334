"""The doors: options in, exit code out."""
