"""The Bitcoin family: blocks from nodes with Bitcoin Core's JSON-RPC, balances from indexers with Esplora's routes."""
