"""Bitcoin on the devnet: bcoin's full node, in memory, under a facade with the shapes of Bitcoin Core and Esplora."""
