"""Names whose records lie off the chain (EIP-3668, ENSIP-10, ENSIP-21), and gateways that do not behave."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import aiohttp
import pytest
from web3 import AsyncHTTPProvider, AsyncWeb3

from devnet import known, known_names
from devnet.evm.names import node_of
from devnet.ports import free_port
from server.errors import NotFound, NotSupported, UpstreamUnavailable
from server.names.lookups import OFFCHAIN_LOOKUP
from server.names.names import MAX_LOOKUPS, address_question
from server.names.normalisation import dns_encode
from tests.server.names import gateway
from tests.server.names.conftest import opened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp import web

    from devnet.launcher import Devnet
    from tests.server.names.conftest import Site
    from tests.server.names.gateway import Asked

    Behaviour = Callable[[Asked], Awaitable[web.StreamResponse]]

pytestmark = pytest.mark.devnet

NAME = "traveller.offchain.eth"
ADDRESS = known_names.OFFCHAIN_ADDRESSES[NAME]


@pytest.mark.parametrize("name", known_names.OFFCHAIN_ADDRESSES)
async def test_a_record_comes_from_the_gateway(name: str, site: Site) -> None:
    assert await site.resolve(name) == known_names.OFFCHAIN_ADDRESSES[name]
    assert [(asked.method, asked.sender) for asked in site.gateway.asked] == [
        ("GET", known_names.OFFCHAIN_RESOLVER.lower())
    ]
    assert [asked.methods for asked in site.proxy.asked] == [["eth_call"], ["eth_call"]]


async def test_web3_follows_the_resolver_to_the_same_record(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """web3's own client of EIP-3668 asks the resolver itself. That it asks no loopback hosts is undone here."""

    async def admit(url: str) -> None:
        assert url.startswith(f"http://127.0.0.1:{site.gateway.port}/")

    module = "web3.utils.async_exception_handling"
    monkeypatch.setattr(f"{module}.validate_ccip_url_scheme", lambda url, allow_http: None)
    monkeypatch.setattr(f"{module}.async_validate_ccip_url_host", admit)
    web3 = AsyncWeb3(AsyncHTTPProvider(site.node.url))
    resolver = web3.eth.contract(
        known_names.OFFCHAIN_RESOLVER,
        abi=[
            {
                "type": "function",
                "name": "resolve",
                "stateMutability": "view",
                "inputs": [{"type": "bytes", "name": "name"}, {"type": "bytes", "name": "data"}],
                "outputs": [{"type": "bytes"}],
            }
        ],
    )
    question = bytes.fromhex("3b3b57de") + node_of(NAME)
    word = await resolver.functions.resolve(dns_encode(NAME), question).call(ccip_read_enabled=True)
    await web3.provider.disconnect()
    assert AsyncWeb3.to_checksum_address(word[-20:]) == await site.resolve(NAME)


async def test_a_primary_name_may_point_back_off_the_chain(site: Site) -> None:
    assert await site.reverse(known_names.TRAVELLER) == NAME
    assert len(site.gateway.asked) == 1
    assert len(site.proxy.asked) == 2


@pytest.mark.parametrize("name", known_names.OFFCHAIN_ADDRESSES)
async def test_a_look_up_travels_whole_where_there_is_no_multicall3(name: str, site: Site) -> None:
    question = {"to": known_names.UNIVERSAL_RESOLVER, "data": "0x" + address_question(name).hex()}
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [question, "latest"]}
    async with aiohttp.ClientSession() as http, http.post(site.node.url, json=body) as response:
        revert = bytes.fromhex((await response.json())["error"]["data"][2:])
    assert len(revert) > 1024
    assert revert[:4] == OFFCHAIN_LOOKUP
    assert await site.resolve(name) == known_names.OFFCHAIN_ADDRESSES[name]
    await site.node.call("anvil_setCode", known.MULTICALL3, "0x")
    assert await site.resolve(name) == known_names.OFFCHAIN_ADDRESSES[name]
    folded, single = site.gateway.asked
    assert (folded.sender, folded.data) == (single.sender, single.data)


async def test_a_name_unknown_to_its_gateway_is_not_found(site: Site) -> None:
    with pytest.raises(NotFound, match="no address"):
        await site.resolve("nobody.offchain.eth")


async def test_the_answer_goes_back_to_the_block_of_the_question(site: Site) -> None:
    async def behave(asked: Asked) -> web.StreamResponse:
        await site.node.call("evm_mine")
        return await gateway.honest(asked)

    site.gateway.behave = behave
    head = int(await site.node.call("eth_blockNumber"), 16)
    blocks: list[str] = []
    forward = site.proxy._forward

    async def spy(body: bytes) -> bytes:
        blocks.append(body.decode().rsplit(",", 1)[1].split('"')[1])
        return await forward(body)

    site.proxy._forward = spy  # type: ignore[method-assign]
    assert await site.resolve(NAME) == ADDRESS
    assert blocks == ["latest", hex(head)]


async def test_callers_who_ask_the_same_at_once_are_one_to_the_gateway(site: Site) -> None:
    async def behave(asked: Asked) -> web.StreamResponse:
        await asyncio.sleep(0.2)
        return await gateway.honest(asked)

    site.gateway.behave = behave
    callers = [asyncio.create_task(site.resolve(NAME)) for _ in range(20)]
    await asyncio.sleep(0.1)
    callers.pop(0).cancel()
    assert await asyncio.gather(*callers) == [ADDRESS] * 19
    assert len(site.gateway.asked) == 1
    assert await site.resolve(NAME) == ADDRESS
    assert len(site.gateway.asked) == 2, "what a gateway answered is not kept"


async def test_after_a_server_error_the_next_gateway_is_asked_by_post(site: Site) -> None:
    site.gateway.behave = gateway.in_turn(gateway.status(500), gateway.honest)
    assert await site.resolve(NAME) == ADDRESS
    assert [asked.method for asked in site.gateway.asked] == ["GET", "POST"]
    assert len({asked.data for asked in site.gateway.asked}) == 1


async def test_a_node_that_dies_before_the_answer_comes_back_is_an_outage(site: Site) -> None:
    async def behave(asked: Asked) -> web.StreamResponse:
        await site.proxy.stop()
        return await gateway.honest(asked)

    site.gateway.behave = behave
    with pytest.raises(UpstreamUnavailable):
        await site.resolve(NAME)


@pytest.mark.parametrize("code", [400, 404, 410, 422])
async def test_a_gateway_may_say_that_it_has_no_record(code: int, site: Site) -> None:
    site.gateway.behave = gateway.in_turn(gateway.status(code), gateway.honest)
    with pytest.raises(NotFound, match="no record"):
        await site.resolve(NAME)
    assert len(site.gateway.asked) == 1, "by EIP-3668 a 4xx ends the look-up"


@pytest.mark.parametrize("code", [401, 403, 408, 429])
async def test_a_gateway_that_refuses_us_says_nothing_of_the_name(code: int, site: Site) -> None:
    site.gateway.behave = gateway.in_turn(gateway.status(code), gateway.honest)
    with pytest.raises(UpstreamUnavailable):
        await site.resolve(NAME)
    assert len(site.gateway.asked) == 1


UNUSABLE: dict[str, Behaviour] = {
    "server error": gateway.status(503),
    "an odd status": gateway.status(399),
    "huge": gateway.huge,
    "endless": gateway.endless,
    "no JSON": gateway.says(b"<html>"),
    "half a document": gateway.says(b'{"data":"0x00'),
    "no data": gateway.says(b"{}"),
    "data is a number": gateway.says(b'{"data":1}'),
    "data is not hex": gateway.says(b'{"data":"0xzz"}'),
    "an odd number of digits": gateway.says(b'{"data":"0x000"}'),
    "no prefix": gateway.says(b'{"data":"00"}'),
    "a list": gateway.says(b'["0x00"]'),
    "deep": gateway.says(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b',"data":"0x00"}'),
    "not UTF-8": gateway.says(b'{"data":"0x\xff\xff"}'),
    "a lone surrogate": gateway.says(b'{"data":"0x00\\ud800"}'),
}


@pytest.mark.parametrize("behaviour", UNUSABLE.values(), ids=UNUSABLE)
async def test_a_gateway_that_gives_nothing_usable_is_an_outage(behaviour: Behaviour, site: Site) -> None:
    site.gateway.behave = behaviour
    with pytest.raises(UpstreamUnavailable, match="gateway") as caught:
        await site.resolve(NAME)
    assert str(site.gateway.port) not in caught.value.message
    assert [asked.method for asked in site.gateway.asked] == ["GET", "POST"]


LIES: dict[str, Behaviour] = {
    "unsigned": gateway.unsigned,
    "another request": gateway.off_the_subject,
    "another contract": gateway.for_another_contract,
    "expired": gateway.expired,
    "nothing": gateway.says(b'{"data":"0x"}'),
    "garbage": gateway.says(b'{"data":"0x' + b"ff" * 500 + b'"}'),
}


@pytest.mark.parametrize("behaviour", LIES.values(), ids=LIES)
async def test_what_the_resolver_does_not_believe_resolves_nothing(behaviour: Behaviour, site: Site) -> None:
    site.gateway.behave = behaviour
    with pytest.raises(NotFound):
        await site.resolve(NAME)


async def test_a_silent_gateway_is_given_up(devnet: Devnet) -> None:
    async with opened(devnet, timeout="300ms") as site:
        site.gateway.behave = gateway.silent
        began = time.monotonic()
        with pytest.raises(UpstreamUnavailable):
            await site.resolve(NAME)
        assert time.monotonic() - began < 10


async def test_a_redirect_to_where_only_we_can_go_is_not_followed(site: Site) -> None:
    asked = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(1))
        writer.close()

    victim = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with victim:
        port = victim.sockets[0].getsockname()[1]
        site.gateway.behave = gateway.redirects(f"http://127.0.0.1:{port}/admin")
        with pytest.raises(UpstreamUnavailable):
            await site.resolve(NAME)
    assert not asked
    assert len(site.gateway.asked) == 2


async def test_a_loopback_gateway_is_not_asked_unless_the_configuration_says_so(devnet: Devnet) -> None:
    async with opened(devnet, allow=[f"127.0.0.1:{free_port()}"]) as site:
        with pytest.raises(UpstreamUnavailable):
            await site.resolve(NAME)
        assert not site.gateway.asked


async def test_a_resolver_may_lead_off_the_chain_more_than_once(site: Site) -> None:
    site.gateway.behave = gateway.in_turn(*[gateway.once_more] * (MAX_LOOKUPS - 1), gateway.honest)
    assert await site.resolve(NAME) == ADDRESS
    assert len(site.gateway.asked) == MAX_LOOKUPS


async def test_a_resolver_that_leads_off_the_chain_for_ever_is_given_up(site: Site) -> None:
    site.gateway.behave = gateway.once_more
    with pytest.raises(NotSupported, match="off the chain"):
        await site.resolve(NAME)
    assert len(site.gateway.asked) <= MAX_LOOKUPS + 1
