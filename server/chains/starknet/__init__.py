"""The Starknet family."""
