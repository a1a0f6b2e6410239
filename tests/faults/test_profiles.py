"""The devnet's own prices are never read by another profile: not by default, nor from a shared database or Redis."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from cli.__main__ import main
from devnet.offchain import prices
from devnet.offchain.server import OffchainServer
from runtime.operations import load_operations
from runtime.settings import Settings, load_settings
from server.app import Gateway
from server.storage.database import open_database
from server.storage.migrations import WrongProfile
from server.storage.price_records import PriceRecords
from server.storage.tables import price_days
from server.upstream.cache import open_cache
from tests.e2e.gateway import run_gateway
from tests.forkserver import COMMAND, fork
from tests.server.upstream.cache.conftest import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HISTORY = {operation.name: operation for operation in load_operations()}["getPriceHistory"]
CLOSED = {"ethereum": {"endpoints": [{"label": "closed", "url": "http://127.0.0.1:9"}]}}
FACES = {"grpc": {"host": "127.0.0.1", "port": 0}, "http": {"host": "127.0.0.1", "port": 0}}
SOURCES = ("defillama", "coingecko", "frankfurter", "jupiter")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's data folder and a tree of their own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("runtime.places.TREE", tmp_path / "tree")
    for name in ("WAYPOST_CONFIG", "WAYPOST_STORAGE__URL", "WAYPOST_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def devnet_of(authority: str, **further: Any) -> Settings:
    overrides = {"profile": "devnet", "chains": CLOSED, "sources": prices.settings(authority), **FACES, **further}
    return load_settings(environ={}, overrides=overrides)


def mainnet(**further: Any) -> Settings:
    """Mainnet without any network."""
    off = {"sources": {name: {"endpoints": []} for name in SOURCES}, "prices": {"collect_every": 0}}
    return load_settings(environ={}, overrides={"profile": "mainnet", "chains": CLOSED, **off, **FACES, **further})


async def keys(*arguments: str) -> int:
    return await asyncio.to_thread(main, ["keys", *arguments])


async def test_by_default_mainnet_knows_nothing_that_the_devnet_made_up(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with OffchainServer((prices.add_routes,)) as offchain, run_gateway(devnet_of(offchain.authority)) as devnet:
        answer = await devnet.ask("getPriceHistory", {"symbol": "ETH", "days": 5})
        assert len(answer["result"]["data"]["prices"]) == 5
    made = home / "tree/.devnet/storage/waypost.db"
    engine = await open_database(f"sqlite:///{made}")
    async with engine.connect() as connection:
        assert {row.source for row in await connection.execute(price_days.select())} == {"defillama"}
    await engine.dispose()

    assert await keys("create", "somebody") == 0
    printed = capsys.readouterr()
    key = printed.out.strip()
    assert f"the mainnet database: SQLite file {home}/data/waypost/waypost.db" in printed.err
    assert await keys("list", "--network", "devnet") == 0
    assert f"the devnet database: SQLite file {made}" in capsys.readouterr().err
    async with run_gateway(mainnet()) as gateway:
        body = {"jsonrpc": "2.0", "id": 1, "method": "getPriceHistory", "params": {"symbol": "ETH"}}
        answer = await (await gateway.post(body, path=f"/{key}/v1")).json()
        assert answer["error"]["data"]["reason"] == "PRICE_UNAVAILABLE"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway.ask_grpc(HISTORY, HISTORY.request(symbol="ETH"), key=key)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


async def test_a_database_named_for_both_refuses_the_second(home: Path) -> None:
    storage = {"storage": {"url": f"sqlite:///{home}/both.db"}}
    async with (
        OffchainServer((prices.add_routes,)) as offchain,
        run_gateway(devnet_of(offchain.authority, **storage)) as devnet,
    ):
        assert "result" in await devnet.ask("getPriceHistory", {"symbol": "ETH"})
    with pytest.raises(WrongProfile):
        await Gateway.create(mainnet(**storage))
    config = home / "both.toml"
    config.write_text(f'[storage]\nurl = "sqlite:///{home}/both.db"\n')
    for arguments in (["serve", "--http-port", "0", "--grpc-port", "0"], ["keys", "create", "a"], ["keys", "list"]):
        named = ("--config", str(config), "--network", "mainnet")
        process = await asyncio.to_thread(fork, COMMAND, *arguments, *named, environ=os.environ)
        out, err = await asyncio.to_thread(process.communicate)
        assert process.returncode == 1
        assert out == ""
        for words in ("storage.url", f"{home}/both.db", "belongs to devnet", "--network devnet"):
            assert words in err, arguments
        assert "Traceback" not in err
    assert await keys("create", "a", "--config", str(config), "--network", "devnet") == 0
    engine = await open_database(f"sqlite:///{home}/both.db", "devnet")
    assert await PriceRecords(engine).read_days("ETH", date.min, datetime.now(UTC).date())
    await engine.dispose()


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer.start()
    yield server
    server.stop()


async def test_a_redis_named_for_both_holds_each_ones_own(redis_server: RedisServer, home: Path) -> None:
    shared = {"cache": {"redis_url": redis_server.url}}
    tiers: dict[str, Any] = {}
    for settings in (devnet_of("127.0.0.1:9", **shared), mainnet(**shared)):
        cache = open_cache(settings)
        assert cache is not None
        tiers[settings.profile] = cache.shared
    tiers["devnet"].put(b"key", b"made up", 60.0)
    await tiers["devnet"].flush()
    assert (await tiers["devnet"].get(b"key"))[0] == b"made up"
    assert await tiers["mainnet"].get(b"key") is None
    for tier in tiers.values():
        await tier.close()
