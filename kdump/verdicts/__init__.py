"""What is to be said in the end: one verdict, from findings, from what was looked at, and from forecasts of starts."""
