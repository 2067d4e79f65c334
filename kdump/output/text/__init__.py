"""Reports for people: what is found, what a fault is, what a release changed."""
