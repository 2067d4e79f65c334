"""Which decoder fits a log, and its records decoded: one way for listings, searches, scans and the library."""
