"""Ethereum and compatible chains over Ethereum JSON-RPC."""
