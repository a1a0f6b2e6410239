"""Calls that callers make up: run, simulated, traced."""
