"""Two gateways and one Redis: what one asked a node, the other need not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runtime.config_errors import ConfigError
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.upstream import open_session
from server.upstream.cache import Cache, RedisTier, open_cache, open_redis
from tests.e2e.gateway import run_gateway
from tests.operations import Operations
from tests.server.chains.evm.nodes import ALICE, USDC
from tests.server.chains.shared.conftest import FINAL_DEPTH, settings_for
from tests.server.upstream.cache.conftest import RedisServer, unhurried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.server.chains.shared.conftest import Site

pytestmark = pytest.mark.devnet

__all__ = ["unhurried"]  # a fixture of these tests too


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer.start()
    yield server
    server.stop()


def settings_with(site: Site, redis: RedisServer, folder: Path, name: str):
    return settings_for(site.url, storage={"url": f"sqlite:///{folder}/{name}.db"}, cache={"redis_url": redis.url})


@pytest.mark.alone("what one gateway read lives for one block; on a busy machine the other one is not up by then")
@pytest.mark.usefixtures("unhurried")
async def test_a_second_gateway_answers_metadata_that_the_first_one_read(
    site: Site, redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: list[Cache] = []

    def open_and_note(settings):
        opened.append(open_cache(settings))
        return opened[-1]

    monkeypatch.setattr("server.app.open_cache", open_and_note)
    params = {"chain": "ethereum", "address": USDC}
    async with run_gateway(settings_with(site, redis_server, tmp_path, "one")) as one:
        first = await one.ask("getTokenMetadata", params)
        assert isinstance(opened[0].shared, RedisTier)
        await opened[0].shared.flush()
    await site.asked()
    async with run_gateway(settings_with(site, redis_server, tmp_path, "two")) as two:
        again = await two.ask("getTokenMetadata", params)
        assert again["result"] == first["result"]
        assert await site.asked() == 0


@pytest.mark.usefixtures("unhurried")
async def test_final_reads_are_shared_and_reads_at_the_head_are_not(site: Site, redis_server: RedisServer):
    final = await site.node.height() - FINAL_DEPTH - 3

    async def read(view: ReadView) -> int:
        tier = open_redis(redis_server.url, "test")
        async with open_session() as http:
            cache = Cache(1 << 20, shared=tier)
            chains = Chains.load(settings_for(site.url), http, cache=cache)
            driver = Operations(chains.get("ethereum"))
            await driver.pool.call("eth_chainId", [])
            driver.memory.finality.block = final
            await site.asked()
            await driver.read_balance(ALICE, view)
            count = await site.asked()
            await tier.flush()
            await chains.close()
            await cache.close()
        return count

    assert await read(ReadView(block=final)) == 1
    assert await read(ReadView(block=final)) == 0
    assert await read(ReadView()) == 1
    assert await read(ReadView()) == 1


async def test_a_redis_that_dies_under_traffic_fails_no_call(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    redis = RedisServer.start()
    try:
        async with run_gateway(settings_with(site, redis, tmp_path, "dies")) as gateway:
            for number in range(30):
                if number == 10:
                    redis.stop()
                token = await gateway.ask("getTokenMetadata", {"chain": "ethereum", "address": USDC})
                block = {"chain": "ethereum", "address": ALICE, "blockHeight": await site.node.height() - number}
                balance = await gateway.ask("getBalance", block)
                assert token["result"]["data"]["symbol"] == "USDC"
                assert "result" in balance
    finally:
        redis.stop()


def test_nothing_is_kept_when_the_settings_say_so():
    assert open_cache(settings_for("http://127.0.0.1:1", cache={"max_bytes": 0})) is None


def test_the_devnet_bounds_what_is_kept_near_the_head_to_a_second():
    devnet = open_cache(settings_for("http://127.0.0.1:1"))
    mainnet = open_cache(settings_for("http://127.0.0.1:1", profile="mainnet", cache={"near_head": "3s"}))
    assert devnet is not None
    assert mainnet is not None
    assert (devnet.near_seconds, mainnet.near_seconds) == (1.0, 3.0)


def test_without_the_redis_client_the_configuration_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "redis.asyncio", None)
    with pytest.raises(ConfigError, match="Python package redis") as caught:
        open_cache(settings_for("http://127.0.0.1:1", cache={"redis_url": "redis://:SECRET@127.0.0.1:1/0"}))
    assert caught.value.key == "cache.redis_url"
    assert "SECRET" not in str(caught.value)
