"""Texts for people: reports of checks, forecasts and scans, explanations of faults, changes of releases."""
