"""The 16 EVM chains of the devnet: one anvil process per chain and the world each is seeded with."""
