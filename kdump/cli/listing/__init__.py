"""Commands that list what is in files, past any damage."""
