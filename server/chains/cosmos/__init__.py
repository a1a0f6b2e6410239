"""Cosmos SDK chains: REST gateway for state, CometBFT RPC for blocks by hash and results."""
