"""Rebuilds the companions of sound logs."""
