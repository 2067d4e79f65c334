"""Worker processes: forks of this one, memory shared with them, and where one was when it died."""
