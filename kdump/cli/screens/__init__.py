"""Commands that print what kdump knows, and examine nothing."""
