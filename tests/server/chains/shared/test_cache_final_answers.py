"""Whole answers to requests that name their block: given again once it is final, on both faces, and never before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from waypost.v1 import account_pb2, block_pb2

from runtime.metrics import cache_lookups
from server.chains.view import ReadView
from server.upstream.cache import CacheContext
from tests.operations import Operations
from tests.server.chains.evm.nodes import ALICE, BOB, USDC
from tests.server.chains.shared.conftest import BLOCK_TIME, FINAL_DEPTH
from tests.server.chains.shared.scripted_node import Node

if TYPE_CHECKING:
    from server.chains.shared.cache import ChainCache
    from tests.e2e.gateway import RunningGateway
    from tests.server.chains.shared.conftest import Site
    from tests.server.upstream.cache.conftest import Clock

pytestmark = pytest.mark.devnet

GIVEN_AGAIN = cache_lookups("request", "hit")


class Asker:
    """Asks the gateway on the site, and counts what is given again whole."""

    def __init__(self, gateway: RunningGateway, site: Site) -> None:
        self.gateway, self.site = gateway, site

    async def ask(self, method: str, params: Any, key: str = "local", **options: Any) -> tuple[Any, str | None, int]:
        before = GIVEN_AGAIN.count
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = await self.gateway.post(body, path=f"/{key}/v1", **options)
        return await response.json(), response.headers.get("X-Waypost-Cache"), GIVEN_AGAIN.count - before

    async def settle(self, method: str, params: Any) -> Any:
        """Ask until the answer is kept for good; return it."""
        await self.ask(method, params)
        await self.memory().finality.settled()
        self.site.clock.pass_seconds(BLOCK_TIME)
        answer, status, given = await self.ask(method, params)
        assert (status, given) == ("hit", 0)
        return answer

    def memory(self) -> ChainCache:
        """Return the cache of the gateway's chain."""
        assert self.gateway.server is not None
        memory: ChainCache = Operations(self.gateway.server.chains.get("ethereum")).memory  # type: ignore[arg-type]
        return memory

    async def final(self) -> int:
        return await self.site.node.height() - FINAL_DEPTH - 10


@pytest.fixture
def asker(gateway: RunningGateway, site: Site) -> Asker:
    return Asker(gateway, site)


def request_of(method: str, block: int) -> dict[str, Any]:
    named = {"chain": "ethereum", "blockHeight": block}
    return {
        "getBalance": {**named, "address": ALICE},
        "getTokenBalance": {**named, "address": ALICE, "token": USDC},
        "getTokenMetadata": {**named, "address": USDC},
        "getCode": {**named, "address": USDC},
        "getBlockByNumber": {"items": [{"chain": "ethereum", "block": block}]},
    }[method]


@pytest.mark.parametrize("method", ["getBalance", "getTokenBalance", "getTokenMetadata", "getCode", "getBlockByNumber"])
async def test_of_a_final_block_the_whole_answer_is_given_again(asker: Asker, site: Site, method: str):
    params = request_of(method, await asker.final())
    kept = await asker.settle(method, params)
    await site.asked()
    again, status, given = await asker.ask(method, params)
    assert (again, status, given, await site.asked()) == (kept, "hit", 1, 0)
    await site.node.call("anvil_mine", "0x3")
    await asker.ask("getBlockHeight", {"chain": "ethereum"})
    await site.asked()
    again, status, given = await asker.ask(method, params)
    assert (again, status, given, await site.asked()) == (kept, "hit", 1, 0)


@pytest.mark.parametrize("method", ["getBalance", "getTokenMetadata", "getBlockByNumber"])
async def test_what_is_kept_whole_is_what_is_read_past_the_cache(asker: Asker, method: str):
    params = request_of(method, await asker.final())
    kept = await asker.settle(method, params)
    read, status, given = await asker.ask(method, params, headers={"Cache-Control": "no-cache"})
    assert (read, status, given) == (kept, "bypass", 0)


@pytest.mark.parametrize("method", ["getBalance", "getTokenMetadata", "getBlockByNumber"])
async def test_of_a_block_that_is_not_final_nothing_is_given_again_whole(asker: Asker, site: Site, method: str):
    params = request_of(method, await site.node.height() - FINAL_DEPTH // 2)
    for expected in ("miss", "hit", "hit", "hit"):
        _, status, given = await asker.ask(method, params)
        assert (status, given) == (expected, 0)


async def test_an_answer_of_a_block_that_is_replaced_follows_it(asker: Asker, site: Site):
    await site.node.send(BOB, value=11)
    block = await site.node.height()
    await site.node.call("anvil_mine", "0x2")
    balance = {"chain": "ethereum", "address": BOB, "blockHeight": block}
    number = {"items": [{"chain": "ethereum", "block": block}]}
    paid = [(await asker.ask("getBalance", balance))[0] for _ in range(3)][-1]
    before = [(await asker.ask("getBlockByNumber", number))[0] for _ in range(3)][-1]
    await site.node.call("anvil_reorg", 3, [])
    fresh, _, _ = await asker.ask("getBlockByNumber", number, headers={"Cache-Control": "no-cache"})
    after, status, given = await asker.ask("getBalance", balance)
    assert (status, given) == ("miss", 0)
    raw = [int(answer["result"]["data"]["balanceRaw"]) for answer in (paid, after)]
    assert raw[1] == raw[0] - 11
    assert fresh != before
    assert (await asker.ask("getBlockByNumber", number))[0] == fresh


async def test_an_endpoint_that_is_not_trusted_any_more_takes_what_is_final_with_it(asker: Asker):
    params = request_of("getBalance", await asker.final())
    await asker.settle("getBalance", params)
    assert (await asker.ask("getBalance", params))[2] == 1
    asker.memory().forget()
    assert (await asker.ask("getBalance", params))[1:] == ("miss", 0)


async def test_several_blocks_of_one_request_are_charged_and_answered_each_time(asker: Asker):
    block = await asker.final()
    params = {"items": [{"chain": "ethereum", "block": block}, {"chain": "ethereum", "block": block - 1}]}
    await asker.settle("getBlockByNumber", params)
    for _ in range(2):
        assert (await asker.ask("getBlockByNumber", params))[1:] == ("hit", 0)


async def test_what_is_not_there_at_a_final_block_is_no_answer_to_keep(asker: Asker):
    params = {"chain": "ethereum", "address": "0x00000000000000000000000000000000000000f7",
              "blockHeight": await asker.final()}  # fmt: skip
    for _ in range(4):
        answer, _, given = await asker.ask("getTokenMetadata", params)
        assert (answer["error"]["data"]["reason"], given) == ("NOT_A_TOKEN", 0)


async def test_grpc_callers_are_given_it_too(asker: Asker):
    block = await asker.final()
    await asker.settle("getBalance", request_of("getBalance", block))
    await asker.settle("getBlockByNumber", request_of("getBlockByNumber", block))
    item = block_pb2.GetBlockByNumberItem(chain="ethereum", block=block)
    for path, request in (
        (
            "AccountService/GetBalance",
            account_pb2.GetBalanceRequest(chain="ethereum", address=ALICE, block_height=block),
        ),
        ("BlockService/GetBlockByNumber", block_pb2.GetBlockByNumberRequest(items=[item])),
    ):
        before = GIVEN_AGAIN.count
        call = asker.gateway.channel.unary_unary(f"/waypost.v1.{path}")(
            request.SerializeToString(), metadata=(("x-api-key", "local"),)
        )
        assert await call
        trailers = dict(await call.trailing_metadata())
        assert (trailers["x-waypost-cache"], trailers["x-waypost-cost"]) == ("hit", "1")
        assert GIVEN_AGAIN.count == before + 1


async def test_a_key_gets_what_is_kept_only_while_it_may_have_it(asker: Asker):
    block = await asker.final()
    server = asker.gateway.server
    assert server is not None
    every = (await server.keys.create_key("every"))[1]
    other = (await server.keys.create_key("other", chains=["base"]))[1]
    blocks_only = (await server.keys.create_key("blocks", operations=["getBlockByNumber"]))[1]
    for method in ("getBalance", "getBlockByNumber"):
        params = request_of(method, block)
        await asker.settle(method, params)
        answer, status, given = await asker.ask(method, params, every)
        assert ("result" in answer, status, given) == (True, "hit", 1)
        refused, _, given = await asker.ask(method, params, other)
        assert (refused["error"]["data"]["reason"], given) == ("KEY_NOT_ALLOWED", 0)
    refused, _, given = await asker.ask("getBalance", request_of("getBalance", block), blocks_only)
    assert (refused["error"]["data"]["reason"], given) == ("KEY_NOT_ALLOWED", 0)


async def test_a_revoked_key_gets_nothing_that_is_kept(asker: Asker):
    params = request_of("getBalance", await asker.final())
    server = asker.gateway.server
    assert server is not None
    number, key = await server.keys.create_key("leaver")
    await asker.settle("getBalance", params)
    assert (await asker.ask("getBalance", params, key))[1:] == ("hit", 1)
    await server.keys.revoke_key(number)
    async with asyncio.timeout(10):
        # Other processes announce revocations: the key directory is renewed within seconds.
        while "result" in (await asker.ask("getBalance", params, key))[0]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    refused, status, given = await asker.ask("getBalance", params, key)
    assert (refused["error"]["data"]["reason"], status, given) == ("KEY_INVALID", None, 0)
    call = asker.gateway.channel.unary_unary("/waypost.v1.AccountService/GetBalance")(
        account_pb2.GetBalanceRequest(
            chain="ethereum", address=ALICE, block_height=params["blockHeight"]
        ).SerializeToString(),
        metadata=(("x-api-key", key),),
    )
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await call
    assert failure.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_it_is_counted_as_usage_of_the_key_that_asked(asker: Asker):
    params = request_of("getBlockByNumber", await asker.final())
    server = asker.gateway.server
    assert server is not None
    number, key = await server.keys.create_key("counted")
    await asker.settle("getBlockByNumber", params)
    for _ in range(3):
        await asker.ask("getBlockByNumber", params, key)
    [tally] = [
        tally
        for (caller, *what), tally in server.usage.tallies.items()
        if what == ["getBlockByNumber", "ethereum"] and caller == f"key:{number}"
    ]
    assert (tally.requests, tally.items, tally.units, tally.cache_hits) == (3, 3, 3, 3)


async def stated(node: Node, block: int) -> CacheContext:
    use = CacheContext()
    use.states_block = True
    await node.read(ReadView(block=block, cache=use))
    return use


async def test_a_final_answer_is_vouched_for_until_its_endpoint_is_not_trusted(clock: Clock):
    node = Node(clock)
    await node.read()
    await node.read(block=800)
    await node.chain_cache.finality.settled()
    clock.pass_seconds(BLOCK_TIME)
    use = await stated(node, 800)
    assert use.holding is not None
    assert (use.status, use.holding.is_true(), use.is_provisional) == ("hit", True, False)
    node.head = 1001
    await node.read(ReadView(cache=CacheContext(bypass=True)))
    node.chain_cache.drop_recent()
    assert use.holding.is_true()
    node.chain_cache.forget()
    assert not use.holding.is_true()


async def test_near_the_head_nothing_is_vouched_for(clock: Clock):
    node = Node(clock)
    await node.read()
    await node.read(block=950)
    await node.chain_cache.finality.settled()
    use = await stated(node, 950)
    assert (use.status, use.holding, use.is_provisional) == ("hit", None, True)


async def test_the_whole_holds_as_long_as_each_of_its_parts() -> None:
    use, true = CacheContext(), {"a": True, "b": True}
    use.states_block = True
    use.holds_in_part(9.0, lambda: true["a"])
    use.holds(5.0, lambda: true["b"])
    use.holds_in_part(7.0, lambda: True)
    assert use.holding is not None
    assert (use.holding.until, use.holding.is_true()) == (5.0, True)
    for name in true:
        true[name] = False
        assert not use.holding.is_true()
        true[name] = True
