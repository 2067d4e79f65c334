"""The verdict: what findings, files that were not examined, and forecasts of starts amount to."""
