"""A chain as tests ask it: every operation of its capabilities by its name, and what stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from server.chains.registry import Chain


class Operations:
    """The operations of one chain, found by name among the objects that have its capabilities."""

    def __init__(self, chain: Chain) -> None:
        self.driver = chain.driver
        self.capabilities = chain.driver.capabilities
        self.pools = chain.driver.pools
        # The first kind of endpoint is that of JSON-RPC, of REST or of nodes.
        self.pool = next(iter(self.pools.values()))
        self.memory = next(iter(chain.driver.caches.values()))

    @property
    def planner(self) -> Any:
        """The planner of an EVM chain's reads."""
        return self.driver._closing[0]

    def of(self, wanted: object) -> Any:
        """Return the object that has the capability."""
        return self.capabilities[wanted]

    def __getattr__(self, name: str) -> Any:
        for reader in self.capabilities.values():
            if hasattr(reader, name):
                return getattr(reader, name)
        raise AttributeError(f"no reader of the chain has {name}")
