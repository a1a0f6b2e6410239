"""Contracts of EVM chains: calls and outcomes, typed functions, words, texts and reverts; no chain's driver."""
