"""The local devnet: real chain nodes as child processes, seeded with contracts at their canonical addresses."""
