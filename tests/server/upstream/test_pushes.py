"""New blocks as nodes announce them, over real WebSockets."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from runtime.config_errors import ConfigError
from runtime.metrics import REGISTRY
from runtime.settings import EndpointSettings, Settings
from server.chains.evm.factory import EvmFactory
from server.chains.facts import load_facts
from server.chains.registry import KINDS, check_configured
from server.upstream import Pool, open_session
from tests.each import each
from tests.server.upstream.push_nodes import HASH, SECONDS, PushNode, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from server.upstream.push_socket import Announcement

    Answer = Callable[[web.WebSocketResponse, dict[str, Any]], Awaitable[None]]

FACTS = load_facts()["ethereum"]


@asynccontextmanager
async def opened(*nodes: PushNode) -> AsyncIterator[tuple[Pool, list[Announcement]]]:
    """A pool with an endpoint for each node, its announcements listened to."""
    for node in nodes:
        await node.start()
    async with open_session() as http:
        [plan] = EvmFactory(FACTS).plans()
        settings = [endpoint(f"n{number}", node.url) for number, node in enumerate(nodes)]
        pool = Pool(FACTS.slug, settings, plan.errors, http, block_time=12.0, verify=plan.verify, push=plan.push)
        heard: list[Announcement] = []
        try:
            with pool.pushes.listen(heard.append):
                yield pool, heard
        finally:
            await pool.close()
            for node in nodes:
                await node.runner.cleanup()


def endpoint(label: str, ws_url: str | None, **more: Any) -> EndpointSettings:
    table = {"label": label, "url": "http://127.0.0.1:9/", "ws_url": ws_url, **more}
    return EndpointSettings.model_validate(table)


async def test_blocks_are_announced_by_height_and_hash() -> None:
    node = PushNode()
    async with opened(node) as (pool, heard):
        await node.announce(17, HASH.upper().replace("0X", "0x"))
        await until(lambda: bool(heard))
        assert heard == [(17, HASH, "n0")]
        assert pool.pushes.is_healthy
        assert [call["method"] for call in node.asked] == ["eth_chainId", "eth_subscribe"]
        assert node.asked[1]["params"] == ["newHeads"]
        assert _metric("waypost_upstream_announcing") == 1
    assert _metric("waypost_upstream_announcing") is None


async def test_nothing_is_open_without_a_listener() -> None:
    node = PushNode()
    await node.start()
    async with open_session() as http:
        [plan] = EvmFactory(FACTS).plans()
        pool = Pool("x", [endpoint("a", node.url)], plan.errors, http, block_time=1.0, push=plan.push)
        await asyncio.sleep(0.05)
        assert not node.handshakes
        with pool.pushes.listen(lambda _: None), pool.pushes.listen(lambda _: None):
            await node.subscribed()
            assert len(node.handshakes) == 1
        await until(lambda: not node.sockets)
        assert not pool.pushes.is_healthy
        with pool.pushes.listen(lambda _: None):
            await until(lambda: len(node.handshakes) == 2)
        await pool.close()
        await node.runner.cleanup()


async def test_each_endpoint_has_its_socket_and_its_label() -> None:
    first, second = PushNode(), PushNode()
    async with opened(first, second) as (_, heard):
        await second.announce(2)
        await until(lambda: len(heard) == 1)
        await first.announce(1)
        await until(lambda: len(heard) == 2)
        assert [(one.number, one.endpoint) for one in heard] == [(2, "n1"), (1, "n0")]


async def test_a_node_of_another_chain_is_refused() -> None:
    node = PushNode()
    node.chain_id = "0x5"
    before = _failures("excluded")
    async with opened(node) as (pool, heard):
        await until(lambda: _failures("excluded") == before + 1)
        assert not pool.pushes.is_healthy
        assert not heard
        assert [call["method"] for call in node.asked] == ["eth_chainId"]


async def test_a_node_that_refuses_to_subscribe_is_left_alone() -> None:
    node = PushNode()
    node.refusal = {"code": -32601, "message": "notifications not supported"}
    before = _failures("node_error")
    async with opened(node) as (pool, _):
        await until(lambda: _failures("node_error") == before + 1)
        assert not pool.pushes.is_healthy
        await asyncio.sleep(0.05)
        assert len(node.handshakes) == 1


@each([302, 307, 401, 500])
async def test_whoever_answers_something_else_than_a_websocket_is_followed_nowhere(status: int) -> None:
    elsewhere, node = PushNode(), PushNode()
    await elsewhere.start()
    over_http = elsewhere.url.replace("ws:", "http:")
    node.status = web.Response(status=status, headers={"Location": over_http})
    before = _failures("http_status")
    async with opened(node):
        await until(lambda: _failures("http_status") == before + 1)
    assert not elsewhere.handshakes
    await elsewhere.runner.cleanup()


@each(
    [
        ("x" * 300_000, "too_large"),
        ("{", "not_json_rpc"),
        ("[" * 100_000, "not_json_rpc"),
        ('{"method":"eth_subscription","params":{"subscription":"0xs","result":{}}}', "unsound"),
        (
            '{"method":"eth_subscription","params":{"subscription":"0xs","result":{"number":"1","hash":"0x"}}}',
            "unsound",
        ),
        ('{"method":"eth_subscription","params":{"subscription":"0xs","result":null}}', "unsound"),
    ]
)
async def test_what_is_no_announcement_ends_the_socket_and_it_is_opened_again(text: str, kind: str) -> None:
    node = PushNode()
    before = _failures(kind)
    async with opened(node) as (pool, heard):
        await node.send(text)
        await until(lambda: _failures(kind) == before + 1)
        await until(lambda: not pool.pushes.is_healthy)
        await node.subscribed(2)
        await node.announce(3)
        await until(lambda: bool(heard))


async def test_notifications_of_other_subscriptions_and_methods_say_nothing() -> None:
    node = PushNode()
    async with opened(node) as (_, heard):
        await node.announce(1, subscription="0xother")
        await node.send('{"jsonrpc":"2.0","method":"eth_other","params":{"subscription":"0xs","result":{}}}')
        await node.send('{"jsonrpc":"2.0","id":9,"result":{}}')
        await node.announce(2)
        await until(lambda: bool(heard))
        assert [one.number for one in heard] == [2]


async def test_a_flood_of_announcements_is_passed_on_at_a_bounded_pace_the_last_one_included() -> None:
    node = PushNode()
    async with opened(node) as (_, heard):
        for number in range(500):
            await node.announce(number)
        await until(lambda: bool(heard) and heard[-1].number == 499)
        assert len(heard) < 100


async def test_a_socket_that_ends_is_opened_again() -> None:
    node = PushNode()
    async with opened(node) as (pool, heard):
        await node.announce(1)
        await until(lambda: pool.pushes.is_healthy)
        await node.sockets[0].close()
        await until(lambda: not pool.pushes.is_healthy)
        await node.subscribed(2)
        await node.announce(2)
        await until(lambda: len(heard) == 2)


async def test_a_socket_that_is_open_and_silent_counts_as_failed() -> None:
    node = PushNode()
    before = _failures("timed_out")
    async with opened(node) as (pool, heard):
        await node.subscribed()
        pool.pushes.silence = 0.2
        change = pool.replace([endpoint("n0", f"{node.url}?other")], hedge=False)
        change.apply()
        await until(lambda: _failures("timed_out") == before + 1 and not pool.pushes.is_healthy)
        await node.subscribed(3)
        assert not heard


async def test_the_endpoints_headers_and_the_names_in_the_url_travel_along(monkeypatch: Any) -> None:
    monkeypatch.setenv("NODE_TOKEN", "t0ken")
    node = PushNode()
    await node.start()
    async with open_session() as http:
        [plan] = EvmFactory(FACTS).plans()
        settings = endpoint("a", node.url.replace("//", "//name:pass@") + "?k=v", headers_env={"X-Token": "NODE_TOKEN"})
        pool = Pool("x", [settings], plan.errors, http, block_time=1.0, push=plan.push)
        with pool.pushes.listen(lambda _: None):
            await node.subscribed()
        [handshake] = node.handshakes
        assert handshake.headers["X-Token"] == "t0ken"
        assert handshake.headers["Authorization"] == "Basic bmFtZTpwYXNz"
        assert handshake.path_qs == "/ws?k=v"
        assert "User-Agent" not in handshake.headers
        assert "Sec-WebSocket-Extensions" not in handshake.headers
        await pool.close()
        await node.runner.cleanup()


async def test_endpoints_that_come_and_go_take_their_sockets_along() -> None:
    first, second = PushNode(), PushNode()
    await second.start()
    async with opened(first) as (pool, heard):
        await first.subscribed()
        change = pool.replace([endpoint("other", second.url)], hedge=False)
        change.apply()
        await second.announce(7)
        await until(lambda: bool(heard))
        assert heard[0].endpoint == "other"
        await until(lambda: not first.sockets)
    await second.runner.cleanup()


def _metric(name: str) -> float | None:
    return REGISTRY.get_sample_value(name, {"chain": FACTS.slug, "endpoint": "n0"})


def _failures(kind: str) -> float:
    labels = {"chain": FACTS.slug, "endpoint": "n0", "kind": kind}
    return REGISTRY.get_sample_value("waypost_upstream_failures_total", labels) or 0


async def test_endpoints_that_do_not_announce_are_named_with_the_reason() -> None:
    good, wrong = PushNode(), PushNode()
    wrong.chain_id = "0x5"
    async with opened(good, wrong) as (pool, _):
        assert await pool.pushes.prove(SECONDS) == {"n1": "its WebSocket serves chain id 5 instead of 1"}
    async with open_session() as http:
        [plan] = EvmFactory(FACTS).plans()
        pool = Pool("x", [endpoint("a", None)], plan.errors, http, block_time=1.0, push=plan.push)
        assert await pool.pushes.prove(SECONDS) == {}
        await pool.close()


@pytest.mark.parametrize("slug", ["solana", "bitcoin", "cosmoshub", "starknet"])
def test_only_nodes_of_evm_chains_are_asked_for_announcements(slug: str) -> None:
    def settings(slug: str, kind: str) -> Settings:
        table = endpoint("a", "wss://node.example.org/SECRETPATH", kind=kind).model_dump(exclude_none=True)
        table["url"], table["ws_url"] = (table[name].get_secret_value() for name in ("url", "ws_url"))
        return Settings.model_validate({"chains": {slug: {"endpoints": [table]}}})

    check_configured(settings("ethereum", "jsonrpc"))
    with pytest.raises(ConfigError, match="leave it out") as refused:
        check_configured(settings(slug, KINDS[load_facts()[slug].family][0]))
    assert refused.value.key == f"chains.{slug}.endpoints[0].ws_url"
    assert "SECRETPATH" not in str(refused.value)
