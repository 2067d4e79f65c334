"""Commands that print reference information and examine no files."""
