"""Reads of state on EVM chains: folded into few executions, each of which proves its block."""
