"""The Starknet chain of the devnet: an engine, that is, another project's execution under our blocks and RPC."""
