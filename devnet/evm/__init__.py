"""The 16 EVM chains of the devnet: one anvil process per chain and the world each is seeded with."""

WORD = "node"
"""What an EVM chain is here: another project's full implementation. The other words are `engine` and `model`."""

CONTRACTS = {
    "original": "WETH9, Multicall3, OpenZeppelin ERC-20 (18 decimals) and ERC-1967 proxy, ENS registry, resolver and "
    "reverse registrar (older than mainnet's), Chainlink's feeds (its proxy over its mock aggregator), as published on "
    "npm",
    "variant": "Multicall3 on arbitrum, which reads a parent chain's block number as contracts do there",
    "stand-in": "other tokens, ArbSys, Pyth, a lending market's oracle, layer-1 fees, ENS's Universal Resolver, odd "
    "contracts: our own code with the same read ABI",
}
"""What the seeded contracts are, in the words of the devnet's status."""
