"""Names of Ethereum: ENS, read through its Universal Resolver, off-chain records included (contract section 4.5)."""
