"""What a build of getYieldsBest asks: one request of each chain once tables are known, for all callers together."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from server import app
from server.protocols import best_yields
from tests.e2e.gateway import run_gateway_on
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

CHAINS = ("ethereum", "arbitrum", "polygon")
DOCUMENTS = {"beefy": 3, "kong": 2, "morpho": 5, "pendle": 1}
"""Requests of a first build by API: vaults, rates and sizes; lists of two chains; of five; one page."""

COLD = {"ethereum": 6, "arbitrum": 3, "polygon": 3}
"""The most of a chain: lists, symbols and decimals in steps, the logs of stake-a's last report, the read itself."""


async def test_a_warm_build_is_one_request_of_each_chain(
    devnet: Devnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = ChainTally()
    monkeypatch.setattr(app, "AccountingObserver", lambda *_: tally)
    settings = devnet.settings_overrides()
    chains = {slug: settings["chains"][slug] for slug in CHAINS}
    async with run_gateway_on(chains, tmp_path, sources=settings["sources"]) as running:
        cold = await running.ask("getYieldsBest", {})
        assert "result" in cold, cold
        asked = Counter(tally.requests)
        assert {source: asked[source] for source in DOCUMENTS} == DOCUMENTS
        assert all(0 < asked[slug] <= most for slug, most in COLD.items()), asked
        del tally.requests[:]
        await asyncio.gather(*(running.ask("getYieldsBest", {}) for _ in range(100)))
        assert tally.requests == [], "a warm call asks nobody"

        # From now on every call finds what is kept too old.
        monkeypatch.setattr(best_yields, "_SERVED_SECONDS", 0.0)
        await running.ask("getYieldsBest", {})
        for slug in CHAINS:
            await devnet.mine(slug, 1)
            await running.ask("getBlockHeight", {"chain": slug})
        del tally.requests[:]
        answers = await asyncio.gather(*(running.ask("getYieldsBest", {}) for _ in range(100)))
        assert all("result" in answer for answer in answers)
        asked = Counter(tally.requests)
        assert {slug: asked[slug] for slug in CHAINS} == dict.fromkeys(CHAINS, 1), asked
