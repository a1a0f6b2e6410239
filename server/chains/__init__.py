"""Chains: their facts, and a driver per family that reads them."""
