"""For each fault the smallest files that show it, and others that nearly do."""
