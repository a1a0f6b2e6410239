"""Gateways some of whose sources fail, and what becomes of an answer there."""

from __future__ import annotations

import copy
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from server.catalog.feeds import PriceTable
from server.prices import factory
from tests.e2e.gateway import RunningGateway, run_gateway_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterator
    from pathlib import Path

    import pytest

    from devnet.launcher import Devnet

CHAINS = ("ethereum", "hyperliquid")
PRICE_APIS = ("coingecko", "defillama", "frankfurter")
NOBODY = "http://127.0.0.1:1"
"""Nothing listens there: what is sent is refused at once."""

# When figures were read, what is a matter of the moment, and what only names the sources that failed.
_OF_THE_MOMENT = frozenset({"updatedAt", "lastUpdated", "blockHeight", "timestamp", "nextFundingAt", "unavailable"})

# Figures that are computed in two ways from a rate that drifts by the second.
_CLOSE = 1e-3


@asynccontextmanager
async def gateway_without(
    devnet: Devnet, failing: Collection[str], folder: Path, patch: pytest.MonkeyPatch
) -> AsyncIterator[RunningGateway]:
    """Run a gateway that keeps nothing from before, of whose sources these fail.

    `chain` stands for the nodes of all chains, `prices` for all that prices are made of: no token has one. The others
    are sources by name.
    """
    overrides = copy.deepcopy(devnet.settings_overrides())
    chains = {slug: overrides["chains"][slug] for slug in CHAINS}
    for table in chains.values() if "chain" in failing else ():
        _break(table)
    for name, table in overrides["sources"].items():
        if name in failing or (name in PRICE_APIS and "prices" in failing):
            _break(table)
    with patch.context() as changed:
        if "prices" in failing:
            changed.setattr(factory, "load_price_table", lambda: PriceTable({}, {}))
        async with run_gateway_on(chains, folder, sources=overrides["sources"]) as running:
            yield running


def _break(table: dict[str, Any]) -> None:
    for endpoint in table["endpoints"]:
        endpoint["url"] = NOBODY


def outcome(whole: dict[str, Any], answer: dict[str, Any]) -> str:
    """Return what an answer is beside the one that all sources stand behind, as the table has it.

    "" where it is the same; `503`; the members that are null or empty now; those that are others now, in brackets.
    """
    if "error" in answer:
        error = answer["error"]
        return str(error["code"]) if error["code"] == 503 else f"{error['code']} {error['data']['reason']}"
    left, now = dict(_leaves(whole["result"])), dict(_leaves(answer["result"]))
    lost = {_name(path) for path, value in left.items() if value is not None and now.get(path) is None}
    lost |= {_name(path) for path, value in left.items() if value == "some" and now.get(path) == "none"}
    others = {
        _name(path)
        for path, value in left.items()
        if now.get(path) is not None and now[path] != value and not _is_close(now[path], value)
    } - lost
    return ", ".join([*sorted(lost), *(f"({name})" for name in sorted(others))])


def outcome_of_best(whole: dict[str, Any], answer: dict[str, Any]) -> str:
    """Return the same for getYieldsBest: the protocols that are missing, then those whose rows have no size now."""
    if "error" in answer:
        return str(answer["error"]["code"])
    data = answer["result"]["data"]
    missing = {row["protocol"] for row in data["unavailable"] if row["chain"] in CHAINS}
    sizes = {_key(row): row["tvl"] for row in data["results"]}
    left = [row for row in whole["result"]["data"]["results"] if row["protocol"] not in missing]
    unsized = {row["protocol"] for row in left if row["tvl"] is not None and sizes.get(_key(row)) is None}
    texts = [f"without {', '.join(sorted(missing))}"] if missing else []
    texts += [f"`tvl` of {', '.join(sorted(unsized))}"] if unsized else []
    return "; ".join(texts)


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["chain"], row["protocol"], row["pool"]


def union(one: str, other: str) -> str:
    """Return what an answer loses by two sources, where each costs what it costs alone."""
    if "503" in (one, other):
        return "503"
    members = {member for text in (one, other) for member in text.split(", ") if member}
    plain = {member for member in members if not member.startswith("(")}
    changed = {member for member in members - plain if member.strip("()") not in plain}
    return ", ".join([*sorted(plain), *sorted(changed)])


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in _OF_THE_MOMENT:
                yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(value, list):
        yield path, "some" if value else "none"
        if len(value) == 1 and isinstance(value[0], dict):
            yield from _leaves(value[0], path)
    else:
        yield path, value


def _name(path: str) -> str:
    return path.rpartition(".")[2]


def _is_close(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= _CLOSE * max(abs(one), abs(other))
    return False
