"""Forecasts of a broker's next start: a model of its loading code, which reads what the broker would read."""
