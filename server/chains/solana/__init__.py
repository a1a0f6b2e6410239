"""Solana: reads of accounts, SPL tokens, blocks and transactions through JSON-RPC nodes."""
