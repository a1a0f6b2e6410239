"""The Starknet chain of the devnet: an engine, that is, somebody else's execution under our blocks and RPC."""
