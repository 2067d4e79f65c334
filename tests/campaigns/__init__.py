"""Long runs that look for what the other tests do not think of; their short forms are tests."""
