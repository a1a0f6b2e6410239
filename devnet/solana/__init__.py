"""The local Solana chain: the LiteSVM engine under a JSON-RPC facade of ours, with a seeded world."""

WORD = "engine"
"""What the chain is here: another project's execution engine (SVM and SPL programs) under our ledger and interface."""
