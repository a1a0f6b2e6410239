"""The protocol registry and the network calendar."""

from __future__ import annotations

from tests.e2e.questions.question import Question

AAVE = {"slug": "aave-v3"}


QUESTIONS = [
    Question("getProtocols"),
    Question("getProtocols", {"category": "staking", "chain": "arbitrum"}, "both filters"),
    Question("getProtocols", {"chain": "cosmoshub"}, "none there"),
    Question("getProtocol", AAVE),
    Question("getProtocol", {"slug": "jupiter"}, "no EVM protocol"),
    Question("getProtocol", {"slug": "dydx"}, "no contracts"),
    Question("getRegistryContracts", AAVE, "all chains"),
    Question("getRegistryContracts", {**AAVE, "chain": "ethereum"}),
    Question("getRegistryAddress", {**AAVE, "contract": "pool", "chain": "gnosis"}),
    Question("getRegistryCategories"),
    Question("getRegistryChains"),
    Question("getNetworkCalendar"),
    Question("getNetworkCalendar", {"chain": "ethereum", "kind": "upgrade", "from": "2025-01-01", "to": "2025-12-31"}),
    Question("getNetworkCalendar", {"chain": "osmosis"}, "blocks without times"),
    Question("getNetworkCalendar", {"chain": "hyperliquid", "to": "2024-12-31"}, "nothing known"),
]

REFUSED = [
    Question("getProtocols", {"chain": "nowhere"}, "unknown chain"),
    Question("getProtocols", {"chain": ""}, "empty chain"),
    Question("getProtocols", {"chain": "e" * 5000}, "oversized chain"),
    Question("getProtocol", {}, "no slug"),
    Question("getProtocol", {"slug": "lend-a"}, "neutral word"),
    Question("getProtocol", {"slug": "a" * 5000}, "oversized slug"),
    Question("getRegistryContracts", {}, "no slug"),
    Question("getRegistryContracts", {**AAVE, "chain": "nowhere"}, "unknown chain"),
    Question("getRegistryContracts", {**AAVE, "chain": ""}, "empty chain"),
    Question("getRegistryContracts", {**AAVE, "chain": "bitcoin"}, "not deployed there"),
    Question("getRegistryContracts", {"slug": "aave"}, "unknown slug"),
    Question("getRegistryContracts", {"slug": "a" * 101}, "oversized slug"),
    Question("getRegistryAddress", {**AAVE, "chain": "ethereum"}, "no contract"),
    Question("getRegistryAddress", {**AAVE, "contract": "pool"}, "no chain"),
    Question("getRegistryAddress", {"contract": "pool", "chain": "ethereum"}, "no slug"),
    Question("getRegistryAddress", {**AAVE, "contract": "pols", "chain": "ethereum"}, "unknown contract"),
    Question("getRegistryAddress", {**AAVE, "contract": "pool", "chain": "moonbeam"}, "not deployed there"),
    Question("getRegistryAddress", {**AAVE, "contract": "pool", "chain": "nowhere"}, "unknown chain"),
    Question("getRegistryAddress", {**AAVE, "contract": "p" * 101, "chain": "ethereum"}, "oversized contract"),
    Question("getNetworkCalendar", {"chain": "nowhere"}, "unknown chain"),
    Question("getNetworkCalendar", {"chain": ""}, "empty chain"),
    Question("getNetworkCalendar", {"from": "2025-02-30"}, "no such day"),
    Question("getNetworkCalendar", {"from": "yesterday"}, "no day"),
    Question("getNetworkCalendar", {"to": "2" * 5000}, "oversized day"),
    Question("getNetworkCalendar", {"from": "2025-02-02", "to": "2025-02-01"}, "reversed"),
]
