"""Worker processes: forks of this one, the memory that they share with it, and what is known of one that died."""
