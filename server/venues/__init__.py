"""Venues of perpetual contracts: what their own APIs answer, a module each."""
