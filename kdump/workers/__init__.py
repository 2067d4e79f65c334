"""Worker processes: forks of this one, memory shared with them, where one was when it died, and how all end with this one."""
