"""Short forms of the campaigns: a few of their random cases, the same each time."""
