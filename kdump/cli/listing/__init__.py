"""Lists what is in files, past any damage."""
