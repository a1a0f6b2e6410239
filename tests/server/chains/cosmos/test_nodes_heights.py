"""State at a height of the caller's choice: that height's, or an error that says why not."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address, operator
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import ArchiveRequired, NotFound, NotSupported, UpstreamUnavailable
from server.rpc.pipeline.errors import facts_of
from server.upstream import open_session
from tests.operations import Operations
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiohttp

    from devnet.cosmos.process import CosmosChains
    from tests.tallies import EndpointTally

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
BOB, STAKER = address(HUB, known.BOB), address(HUB, known.ALICE)
OPERATOR = operator(HUB, 2)
HEIGHT = "x-cosmos-block-height"

READS: dict[str, Callable[[Operations, ReadView], Awaitable[Any]]] = {
    "balance": lambda driver, view: driver.read_token_balance(BOB, HUB.denom, view),
    "metadata": lambda driver, view: driver.read_token_metadata(HUB.denom, view),
    "delegations": lambda driver, view: driver.read_delegations(STAKER, view),
    "account": lambda driver, view: driver.read_account(STAKER, view),
    "validator": lambda driver, view: driver.read_validator(OPERATOR, view),
}


@pytest.mark.parametrize("name", READS)
async def test_block_0_is_not_the_newest_one(driver: Operations, tally: EndpointTally, name: str) -> None:
    with pytest.raises(NotFound, match="blocks begin at 1") as refused:
        await READS[name](driver, ReadView(0))
    assert refused.value.field == "blockHeight"
    assert tally.requests == []


@pytest.mark.parametrize("name", READS)
async def test_a_height_to_come_is_not_there_yet(driver: Operations, name: str) -> None:
    with pytest.raises(NotFound, match="does not exist yet") as refused:
        await READS[name](driver, ReadView(HUB.first + 10**6))
    assert refused.value.field == "blockHeight"
    head = await driver.read_height(ReadView())
    assert int(facts_of(refused.value)["head"]) in (head - 1, head)
    assert facts_of(refused.value)["head"] in refused.value.message


async def test_a_forgotten_height_needs_an_archive(driver: Operations) -> None:
    with pytest.raises(ArchiveRequired) as refused:
        await READS["balance"](driver, ReadView(5))
    assert refused.value.field == "blockHeight"


@pytest.mark.parametrize("what", ["read_block_by_number", "read_block_transactions", "read_block_results"])
async def test_there_is_no_block_0(driver: Operations, tally: EndpointTally, what: str) -> None:
    with pytest.raises(NotFound):
        await getattr(driver, what)(0, ReadView())
    assert tally.requests == []


async def test_of_what_nobody_can_decode_it_is_said(driver: Operations) -> None:
    block = (await driver.read_block_transactions(HUB.first + known.STAKED_AT, ReadView())).cosmos
    [undecodable] = [row.txhash for row in block.transactions if row.code == known.UNDECODABLE]
    for read in (driver.read_receipt, driver.read_transaction):
        with pytest.raises(NotSupported, match="cannot decode"):
            await read(undecodable, ReadView())


@asynccontextmanager
async def cache_of(target: str, http: aiohttp.ClientSession) -> AsyncIterator[str]:
    """A proxy that does not pass the header of the height on: it answers with the newest state."""

    async def answer(request: web.Request) -> web.Response:
        async with http.get(target + request.path_qs) as got:
            kept = {name: value for name, value in got.headers.items() if name.lower().endswith(HEIGHT)}
            return web.Response(status=got.status, body=await got.read(), headers=kept)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with serve_app(app) as url:
        yield url


@pytest.mark.parametrize("has_good", [True, False])
async def test_the_state_at_another_height_is_not_believed(
    model: CosmosChains, plain: aiohttp.ClientSession, *, has_good: bool
) -> None:
    good = next(one.url.rstrip("/") for one in model.endpoints["cosmoshub"] if one.kind == "rest")
    async with AsyncExitStack() as stack:
        cached = await stack.enter_async_context(cache_of(good, plain))
        endpoints = [{"label": "cached", "url": cached, "kind": "rest", "weight": 1000}]
        if has_good:
            endpoints.append({"label": "good", "url": good, "kind": "rest"})
        settings = {"profile": "devnet", "chains": {"cosmoshub": {"endpoints": endpoints}}}
        http = await stack.enter_async_context(open_session())
        chains = Chains.load(Settings.model_validate(settings), http)
        stack.push_async_callback(chains.close)
        driver: Any = Operations(chains.get("cosmoshub"))
        assert (await driver.read_token_balance(BOB, HUB.denom, ReadView())).raw == known.SENT
        for _ in range(3):
            then = driver.read_token_balance(BOB, HUB.denom, ReadView(HUB.first))
            if has_good:
                assert (await then).raw == 0
            else:
                with pytest.raises(UpstreamUnavailable):
                    await then
