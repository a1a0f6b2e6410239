"""What callers see of the cache, on both faces: a header, a trailer, and a way past it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from waypost.v1 import account_pb2, token_pb2

from server.app import Gateway
from tests.server.chains.evm.nodes import ALICE, BOB, MKR, NOBODY, USDC
from tests.server.chains.shared.conftest import BLOCK_TIME, settings_for
from tests.serving import serve_face

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.gateway import RunningGateway
    from tests.server.chains.shared.conftest import Site

pytestmark = pytest.mark.devnet

HOUR = 3600.0


async def post(gateway: RunningGateway, method: str, params: Any, **headers: str) -> tuple[dict[str, Any], str | None]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = await gateway.post(body, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer: dict[str, Any] = await response.json()
    return answer, response.headers.get("X-Waypost-Cache")


async def call(
    gateway: RunningGateway, request: Any, *metadata: tuple[str, str]
) -> tuple[Any, str | None, grpc.StatusCode]:
    rpcs = {
        account_pb2.GetBalanceRequest: ("AccountService/GetBalance", account_pb2.GetBalanceResponse),
        token_pb2.GetTokenMetadataRequest: ("TokenService/GetTokenMetadata", token_pb2.GetTokenMetadataResponse),
    }
    path, response = rpcs[type(request)]
    rpc = gateway.channel.unary_unary(
        f"/waypost.v1.{path}", request_serializer=type(request).SerializeToString,
        response_deserializer=response.FromString,
    )  # fmt: skip
    asked = rpc(request, metadata=(("x-api-key", "local"), *metadata))
    try:
        answer = await asked
    except grpc.aio.AioRpcError:
        answer = None
    return answer, (await asked.trailing_metadata()).get("x-waypost-cache"), await asked.code()


async def test_a_balance_says_miss_then_hit_and_costs_one_request(gateway: RunningGateway, site: Site):
    params = {"chain": "ethereum", "address": ALICE}
    first, status = await post(gateway, "getBalance", params)
    assert (status, await site.asked()) == ("miss", 1)
    again, status = await post(gateway, "getBalance", params)
    assert (status, await site.asked()) == ("hit", 0)
    assert again == first


async def test_grpc_callers_read_the_same_in_a_trailer(gateway: RunningGateway, site: Site):
    request = account_pb2.GetBalanceRequest(chain="ethereum", address=BOB)
    first, status, _ = await call(gateway, request)
    assert status == "miss"
    again, status, _ = await call(gateway, request)
    assert status == "hit"
    assert again == first
    assert await site.asked() == 1


@pytest.mark.parametrize("directive", ["no-cache", "No-Cache", "max-age=0", "no-transform, no-store"])
async def test_no_cache_reaches_a_node_on_both_faces(gateway: RunningGateway, site: Site, directive: str):
    await post(gateway, "getBalance", {"chain": "ethereum", "address": ALICE})
    await site.asked()
    _, status = await post(gateway, "getBalance", {"chain": "ethereum", "address": ALICE}, Cache_Control=directive)
    assert (status, await site.asked()) == ("bypass", 1)
    request = account_pb2.GetBalanceRequest(chain="ethereum", address=ALICE)
    _, status, _ = await call(gateway, request, ("x-waypost-cache-control", directive))
    assert (status, await site.asked()) == ("bypass", 1)


@pytest.mark.parametrize("directive", ["", "max-age=60", "no-cached", ",,,", "private"])
async def test_other_directives_change_nothing(gateway: RunningGateway, site: Site, directive: str):
    await post(gateway, "getBalance", {"chain": "ethereum", "address": ALICE})
    _, status = await post(gateway, "getBalance", {"chain": "ethereum", "address": ALICE}, Cache_Control=directive)
    assert status == "hit"


async def test_token_metadata_lives_an_hour_in_any_writing_of_the_address(gateway: RunningGateway, site: Site):
    first, status = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": USDC})
    assert (status, await site.asked()) == ("miss", 1)
    await site.node.send(BOB, value=1)
    site.clock.pass_seconds(HOUR - 1)
    for address in (USDC, USDC.lower(), "0x" + USDC[2:].upper()):
        again, status = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": address})
        assert (status, await site.asked()) == ("hit", 0)
        assert again == first
    answer, status, _ = await call(gateway, token_pb2.GetTokenMetadataRequest(chain="ethereum", address=USDC.lower()))
    assert (status, answer.address, answer.evm.symbol) == ("hit", USDC, "USDC")
    site.clock.pass_seconds(1)
    later, status = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": USDC})
    assert (status, await site.asked()) == ("miss", 1)
    assert later["result"]["data"]["blockHeight"] > first["result"]["data"]["blockHeight"]


async def test_metadata_at_a_block_of_the_callers_choice_is_of_that_block(gateway: RunningGateway, site: Site):
    now, _ = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": MKR})
    head = now["result"]["data"]["blockHeight"]
    then, status = await post(
        gateway, "getTokenMetadata", {"chain": "ethereum", "address": MKR, "blockHeight": head - 2}
    )
    assert then["result"]["data"]["blockHeight"] == head - 2
    assert status == "miss"
    _, status = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": MKR, "blockHeight": head - 2})
    assert status == "hit"
    # Near the head it is no answer for an hour: the block may yet be replaced.
    site.clock.pass_seconds(BLOCK_TIME)
    await site.asked()
    _, status = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": MKR, "blockHeight": head - 2})
    assert (status, await site.asked()) == ("miss", 1)


async def test_a_wrong_checksum_is_refused_even_if_the_address_is_kept(gateway: RunningGateway):
    await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": USDC})
    wrong = USDC[:-1] + USDC[-1].swapcase() if USDC[-1].isalpha() else USDC.replace("A", "a", 1)
    answer, status = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": wrong})
    assert answer["error"]["data"]["reason"] == "INVALID_ARGUMENT"
    assert status is None


async def test_an_address_without_a_token_is_asked_about_again_within_seconds(gateway: RunningGateway, site: Site):
    request = token_pb2.GetTokenMetadataRequest(chain="ethereum", address=NOBODY)
    for expected in ("miss", "hit"):
        _, status, code = await call(gateway, request)
        assert (status, code) == (expected, grpc.StatusCode.FAILED_PRECONDITION)
    await site.asked()
    site.clock.pass_seconds(5)
    answer, status = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": NOBODY})
    assert (status, answer["error"]["data"]["reason"]) == ("miss", "NOT_A_TOKEN")
    assert await site.asked() > 0


async def test_when_the_nodes_are_gone_metadata_past_its_hour_is_better_than_none(gateway: RunningGateway, site: Site):
    params = {"chain": "ethereum", "address": USDC}
    first, _ = await post(gateway, "getTokenMetadata", params)
    site.clock.pass_seconds(HOUR)
    await site.relay.runner.cleanup()
    again, status = await post(gateway, "getTokenMetadata", params)
    assert (status, again) == ("stale", first)
    refused, status = await post(gateway, "getTokenMetadata", params, Cache_Control="no-cache")
    assert refused["error"]["code"] == 503
    assert status == "bypass"
    unknown, status = await post(gateway, "getTokenMetadata", {"chain": "ethereum", "address": MKR})
    assert unknown["error"]["code"] == 503


async def test_a_batch_of_several_has_no_header_and_is_answered_out_of_the_cache_as_well(
    gateway: RunningGateway, site: Site
):
    holders = [f"0x{number:040x}" for number in range(0x5000, 0x5032)]
    body = [
        {"jsonrpc": "2.0", "id": number, "method": "getTokenBalance",
         "params": {"chain": "ethereum", "address": holder, "token": USDC}}
        for number, holder in enumerate(holders)
    ]  # fmt: skip
    first = await gateway.post(body)
    assert await site.asked() == 1
    again = await gateway.post(body)
    assert await site.asked() == 0
    assert await first.json() == await again.json()
    assert "X-Waypost-Cache" not in first.headers
    assert "X-Waypost-Cache" not in again.headers


async def test_a_batch_of_one_has_the_header_of_its_call(gateway: RunningGateway, site: Site):
    params = {"chain": "ethereum", "address": f"0x{0x6000:040x}"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": params}

    async def state_of(body: Any, **headers: str) -> tuple[str | None, str]:
        response = await gateway.post(body, headers=headers)
        assert response.status == 200
        return response.headers.get("X-Waypost-Cache"), response.headers["X-Waypost-Cost"]

    assert await state_of([call]) == ("miss", "1")
    assert await site.asked() == 1
    # As a call is read, and as it is kept whole.
    for _ in range(3):
        assert await state_of([call]) == await state_of(call) == ("hit", "1")
    assert await site.asked() == 0
    fresh = {"Cache-Control": "no-cache"}
    assert await state_of([call], **fresh) == await state_of(call, **fresh) == ("bypass", "1")
    for other in (call | {"method": "getBlockHeight", "params": {"chain": "ethereum"}}, call | {"method": "none"}):
        assert await state_of([other]) == await state_of(other)
        assert (await state_of([other]))[0] is None
    assert await state_of([call, call]) == (None, "2")


@pytest.mark.parametrize("method", ["getBlockHeight", "getChainHealth"])
async def test_what_is_always_asked_of_a_node_says_nothing_of_a_cache(gateway: RunningGateway, site: Site, method: str):
    for _ in range(2):
        answer, status = await post(gateway, method, {"chain": "ethereum"})
        assert "result" in answer
        assert status is None
        assert await site.asked() > 0


async def test_rows_of_one_request_share_its_status(gateway: RunningGateway, site: Site):
    head = await site.node.height()
    one = {"items": [{"chain": "ethereum", "block": head}]}
    two = {"items": [{"chain": "ethereum", "block": head}, {"chain": "ethereum", "block": head - 1}]}
    assert (await post(gateway, "getBlockByNumber", one))[1] == "miss"
    assert (await post(gateway, "getBlockByNumber", one))[1] == "hit"
    assert (await post(gateway, "getBlockByNumber", two))[1] == "miss"
    assert (await post(gateway, "getBlockByNumber", two))[1] == "hit"


async def test_a_failed_call_tells_it_too(gateway: RunningGateway, site: Site):
    await site.relay.runner.cleanup()
    answer, status = await post(gateway, "getBalance", {"chain": "ethereum", "address": ALICE})
    assert (answer["error"]["code"], status) == (503, "miss")


async def test_the_newest_block_is_seen_after_a_block_time(gateway: RunningGateway, site: Site):
    params = {"chain": "ethereum", "address": BOB}
    before, _ = await post(gateway, "getBalance", params)
    await site.node.send(BOB, value=5)
    site.clock.pass_seconds(BLOCK_TIME)
    after, status = await post(gateway, "getBalance", params)
    assert status == "miss"
    assert int(after["result"]["data"]["balanceRaw"]) == int(before["result"]["data"]["balanceRaw"]) + 5


async def test_a_transcoder_in_another_process_shows_it_as_well(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Here the trailer crosses a socket between the two faces."""
    monkeypatch.setattr("server.app.open_cache", lambda _settings: site.cache)
    target, secret = f"unix:{tmp_path}/private.sock", "0123456789abcdef"
    settings = settings_for(
        site.url,
        storage={"url": f"sqlite:///{tmp_path}/keys.db"},
        grpc={"port": 0, "private_listen": target, "credential": secret},
    )
    server = await Gateway.create(settings)
    await server.start()
    async with (
        grpc.aio.insecure_channel(target) as channel,
        serve_face(channel, settings.http, credential=secret) as base,
        aiohttp.ClientSession() as session,
    ):
        body = {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": {"chain": "ethereum", "address": ALICE}}
        for headers, expected in (({}, "miss"), ({}, "hit"), ({"Cache-Control": "no-cache"}, "bypass")):
            async with session.post(f"{base}/local/v1", json=body, headers=headers) as response:
                assert "result" in await response.json()
                assert response.headers["X-Waypost-Cache"] == expected
    await server.drain(1.0)


async def test_an_answer_given_again_follows_the_head(gateway: RunningGateway, site: Site):
    params = {"chain": "ethereum", "address": BOB}
    await post(gateway, "getBalance", params)
    before, status = await post(gateway, "getBalance", params)
    assert status == "hit"
    await site.node.send(BOB, value=7)
    await post(gateway, "getBlockHeight", {"chain": "ethereum"})
    after, status = await post(gateway, "getBalance", params)
    assert status == "miss"
    balances = [int(answer["result"]["data"]["balanceRaw"]) for answer in (before, after)]
    assert balances[1] == balances[0] + 7
