"""What becomes of every answer where sources fail; docs/yields.md has the same table."""

from __future__ import annotations

from typing import Any, NamedTuple

from devnet import known
from devnet.known_funds import LST_HYPE
from devnet.known_lending_c_vaults import SECOND_GENERATION, STEAKHOUSE
from devnet.known_yield_a import RUNNING

SOURCES = ("chain", "prices", "morpho", "beefy", "kong", "pendle", "hyperliquid", "dydx")
"""What can fail: the nodes, all prices of tokens, each API."""

_USDC_MARKET = "0xc3d688B66703497DAA19211EEdff47f25384cdc3"
_VAULT_A = "morpho-v2-ethereum-steakhouse-prime-usdc"
_VAULT_B = "0xBe53A109B494E5c9f97b9Cd39Fe969BE68BF6204"
_LEND_D = "0xB8CE59FC3717ada4C02eaDF9682A9e934F625ebb"
_FUND = "mTBILL"
_ALL = "503"


class Row(NamedTuple):
    """An answer: what is asked, and what it loses where each of these sources fails alone.

    A cell is as `outcome` has it: `503`, members that are null or empty, in brackets members that have another value.
    """

    operation: str
    params: dict[str, Any]
    loses: dict[str, str]


def _of(operation: str, slug: str, protocol: str, pool: str, **loses: str) -> Row:
    wallet = {"address": known.VITALIK} if operation == "getYieldsBalance" else {}
    return Row(operation, {"chain": slug, "protocol": protocol, "pool": pool, **wallet}, loses)


ROWS: dict[str, Row] = {
    "`getYieldsLending` of lend-a": _of("getYieldsLending", "ethereum", "lend-a", "USDC", chain=_ALL),
    "of lend-b": _of("getYieldsLending", "ethereum", "lend-b", _USDC_MARKET, chain=_ALL),
    "of lend-c": _of("getYieldsLending", "ethereum", "lend-c", STEAKHOUSE, chain=_ALL, prices="tvl"),
    "of lend-c, second generation": _of(
        "getYieldsLending", "ethereum", "lend-c", SECOND_GENERATION, chain=_ALL, prices="tvl", morpho=_ALL
    ),
    "of lend-d": _of("getYieldsLending", "hyperliquid", "lend-d", _LEND_D, chain=_ALL),
    "`getYieldsVaults` of vault-a": _of("getYieldsVaults", "ethereum", "vault-a", _VAULT_A, beefy=_ALL),
    "of vault-b": _of("getYieldsVaults", "ethereum", "vault-b", _VAULT_B, chain=_ALL, kong="(apy), (basis)"),
    "of yield-a": _of("getYieldsVaults", "ethereum", "yield-a", RUNNING.market, chain=_ALL, prices="tvl"),
    "of vault-d": _of("getYieldsVaults", "hyperliquid", "vault-d", LST_HYPE.address, chain=_ALL, prices="tvl"),
    "`getYieldsBalance` of lend-a": _of("getYieldsBalance", "ethereum", "lend-a", "USDC", chain=_ALL),
    "in lend-b": _of("getYieldsBalance", "ethereum", "lend-b", _USDC_MARKET, chain=_ALL),
    "in lend-c": _of("getYieldsBalance", "ethereum", "lend-c", STEAKHOUSE, chain=_ALL, prices="USD"),
    "in lend-d": _of("getYieldsBalance", "hyperliquid", "lend-d", _LEND_D, chain=_ALL),
    "in vault-a": _of("getYieldsBalance", "ethereum", "vault-a", _VAULT_A, chain=_ALL, beefy=_ALL),
    "in vault-b": _of("getYieldsBalance", "ethereum", "vault-b", _VAULT_B, chain=_ALL, prices="USD"),
    "in yield-a": _of("getYieldsBalance", "ethereum", "yield-a", RUNNING.market, chain=_ALL, prices="USD"),
    "in vault-d": _of("getYieldsBalance", "hyperliquid", "vault-d", LST_HYPE.address, chain=_ALL, prices="USD"),
    "`getYieldsPrice` of lend-a": _of("getYieldsPrice", "ethereum", "lend-a", "USDC", chain=_ALL),
    "share of lend-c": _of("getYieldsPrice", "ethereum", "lend-c", STEAKHOUSE, chain=_ALL, prices=_ALL),
    "PT of yield-a": _of("getYieldsPrice", "ethereum", "yield-a", RUNNING.market, chain=_ALL, prices=_ALL),
    "fund of tokenized-a": _of("getYieldsPrice", "ethereum", "tokenized-a", _FUND, chain=_ALL),
    "`getYieldsYieldAImpliedApy`": Row(
        "getYieldsYieldAImpliedApy",
        {"chain": "ethereum", "pool": RUNNING.market, "address": known.VITALIK},
        {"chain": _ALL, "pendle": _ALL},
    ),
    "`getLendCVaults`": Row("getLendCVaults", {"chain": "ethereum"}, {"morpho": _ALL}),
    "`getLendCVaultData`": Row(
        "getLendCVaultData",
        {"chain": "ethereum", "vaults": [STEAKHOUSE]},
        {"morpho": "avgApy, avgNetApy, (netApy), (source)"},
    ),
    "`getLendCVaultData`, second generation": Row(
        "getLendCVaultData", {"chain": "ethereum", "vaults": [SECOND_GENERATION]}, {"morpho": _ALL}
    ),
    "`getFundingRates`": Row("getFundingRates", {}, {"hyperliquid": "venueA", "dydx": "venueB"}),
    "`getVenueAFunding`": Row("getVenueAFunding", {}, {"hyperliquid": _ALL}),
    "`getVenueBFunding`": Row("getVenueBFunding", {}, {"dydx": _ALL}),
}
"""By what docs/yields.md calls the answer, in its order."""

PAIRS: dict[tuple[str, str, str], str] = {
    ("of vault-b", "prices", "kong"): "tvl, (apy), (basis)",
    ("`getLendCVaultData`", "chain", "morpho"): _ALL,
    ("`getLendCVaultData`", "prices", "morpho"): "avgApy, avgNetApy, totalAssetsUsd, (netApy), (source)",
    ("`getFundingRates`", "hyperliquid", "dydx"): _ALL,
}
"""Where two sources cost more than each alone."""

BEST: dict[str, tuple[set[str], set[str]]] = {
    "chain": ({"lend-a", "lend-b", "lend-d", "stake-a", "vault-b", "vault-d"}, set()),
    "prices": (set(), {"stake-a", "vault-d"}),
    "morpho": ({"lend-c"}, set()),
    "beefy": ({"vault-a"}, set()),
    "kong": ({"vault-b"}, set()),
    "pendle": ({"yield-a"}, set()),
}
"""getYieldsBest: the protocols that are missing by the source that fails, and those whose rows have no size."""


def best_without(*failing: str) -> str:
    """Return what getYieldsBest loses where these fail, as `outcome_of_best` has it."""
    lost = [BEST.get(source, (set(), set())) for source in failing]
    missing = set[str]().union(*(one for one, _ in lost))
    unsized = set[str]().union(*(one for _, one in lost)) - missing
    texts = [f"without {', '.join(sorted(missing))}"] if missing else []
    texts += [f"`tvl` of {', '.join(sorted(unsized))}"] if unsized else []
    return "; ".join(texts)


def table() -> str:
    """Return the table of docs/yields.md."""
    lines = [f"| | {' | '.join(SOURCES)} |", "|---" * (len(SOURCES) + 1) + "|"]
    lines += [
        f"| {name} | " + " | ".join(row.loses.get(source, "") for source in SOURCES) + " |"
        for name, row in ROWS.items()
    ]
    lines.append("| `getYieldsBest` | " + " | ".join(map(best_without, SOURCES)) + " |")
    lines += [
        f"| {name}, {one} and {other} | {cell}" + " |" * len(SOURCES) for (name, one, other), cell in PAIRS.items()
    ]
    return "\n".join(line.replace("|  |", "| |").replace("|  |", "| |") for line in lines)
