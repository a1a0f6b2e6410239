"""A key that is rotated while a gateway serves: both texts over both faces, one quota and one account for the two."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import grpc
from waypost.v1 import usage_pb2

from runtime.operations import load_operations
from runtime.settings import load_settings
from server.access.directory import FRESH_SECONDS
from server.access.keys import KeyStore
from server.storage.database import open_database
from tests.e2e.gateway import run_gateway

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.gateway import RunningGateway

(OPERATION,) = (operation for operation in load_operations() if operation.name == "getUsage")
# Nothing is refilled while the test runs; an unknown key may cost nothing of it.
ANSWERS, SLOWEST = 5, 0.001


async def over_json(gateway: RunningGateway, key: str) -> str:
    """Return the account that is answered, or the reason of the refusal."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "getUsage", "params": {}}
    answer = await (await gateway.post(body, path=f"/{key}/v1")).json()
    return str(answer["result"]["data"]["account"] if "result" in answer else answer["error"]["data"]["reason"])


async def over_grpc(gateway: RunningGateway, key: str) -> str:
    try:
        answer: Any = await gateway.ask_grpc(OPERATION, usage_pb2.GetUsageRequest(), key)
    except grpc.aio.AioRpcError as error:
        return {"RESOURCE_EXHAUSTED": "RATE_LIMITED", "UNAUTHENTICATED": "KEY_INVALID"}[error.code().name]
    return str(answer.account)


async def until(gateway: RunningGateway, key: str, answered: str) -> None:
    """Wait until a change of the keys is known."""
    async with asyncio.timeout(4 * FRESH_SECONDS):
        while await over_json(gateway, key) != answered:  # noqa: ASYNC110  # the gateway looks on its own
            await asyncio.sleep(0.2)


async def test_both_texts_are_one_key_until_the_old_one_ends(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/waypost.db"
    settings = load_settings(environ={}, overrides={"profile": "devnet", "storage": {"url": url}, "grpc": {"port": 0}})
    database = await open_database(url, "devnet")
    store = KeyStore(database)
    number, old = await store.create_key("a", SLOWEST, ANSWERS * OPERATION.options.cost)
    account = f"key:{number}"
    async with run_gateway(settings) as gateway:
        assert await over_json(gateway, old) == account
        # Known to be wrong by now: a new text must not stay so.
        _, new = await store.rotate_key("a", datetime.now(UTC) + timedelta(hours=1))
        assert await over_grpc(gateway, new) == account
        assert await over_json(gateway, old) == account
        assert await over_json(gateway, new) == account
        assert await over_grpc(gateway, old) == account
        for key in (old, new):
            assert [await over_json(gateway, key), await over_grpc(gateway, key)] == ["RATE_LIMITED"] * 2
        _, last = await store.rotate_key("a")
        await until(gateway, new, "KEY_INVALID")
        assert [await over_json(gateway, old), await over_grpc(gateway, new)] == ["KEY_INVALID"] * 2
        assert [await over_json(gateway, last), await over_grpc(gateway, last)] == ["RATE_LIMITED"] * 2
    await database.dispose()
