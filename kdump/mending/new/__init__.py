"""What all commands that mend make: a new directory, its partitions, and their companions."""
