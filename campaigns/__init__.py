"""Long random runs that find cases the other tests do not cover; their short forms are tests."""
