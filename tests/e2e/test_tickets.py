"""Tickets of the console on whole gateways: over both faces, behind a transcoder of its own, at another replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.settings import load_settings
from server.access.keys import KeyStore
from server.storage.database import open_database
from tests.e2e.gateway import CREDENTIAL, run_gateway
from tests.e2e.test_rotated_keys import OPERATION, over_grpc, over_json, until
from transcoder.pages import TICKETS

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.settings import Settings
    from tests.e2e.gateway import RunningGateway

# Nothing is refilled while the test runs.
UNITS, SLOWEST = 2 + 4 * OPERATION.options.cost, 0.001


def settings_of(url: str, socket: Path) -> Settings:
    private = {"host": "127.0.0.1", "port": 0, "private_listen": f"unix:{socket}", "credential": CREDENTIAL}
    overrides = {"profile": "devnet", "storage": {"url": url}, "grpc": private, "http": {"host": "127.0.0.1"}}
    return load_settings(environ={}, overrides=overrides)


async def ticket_of(gateway: RunningGateway, base: str, key: str) -> str:
    """Return a ticket for the key, from the face at `base`."""
    async with gateway.session.post(base + TICKETS, headers={"Authorization": f"Bearer {key}"}) as response:
        assert response.status == 200
        return str((await response.json())["ticket"])


async def test_a_ticket_is_the_key_wherever_it_is_sent(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/waypost.db"
    database = await open_database(url, "devnet")
    store = KeyStore(database)
    number, key = await store.create_key("a", SLOWEST, UNITS)
    account = f"key:{number}"
    async with (
        run_gateway(settings_of(url, tmp_path / "one.sock")) as gateway,
        run_gateway(settings_of(url, tmp_path / "two.sock")) as replica,
    ):
        assert gateway.behind_socket
        ticket = await ticket_of(gateway, gateway.http, key)
        other = await ticket_of(gateway, gateway.behind_socket, key)
        assert [await over_json(gateway, ticket), await over_grpc(gateway, other)] == [account] * 2
        assert [await over_json(replica, other), await over_grpc(replica, ticket)] == [account] * 2
        request = {"jsonrpc": "2.0", "id": 1, "method": "getUsage", "params": {}}
        async with gateway.session.post(f"{gateway.behind_socket}/{ticket}/v1", json=[request]) as response:
            [answer] = await response.json()
        assert answer["result"]["data"]["account"] == account
        # One quota for all of them, and the key itself.
        assert await over_json(gateway, key) == account
        assert [await over_json(gateway, ticket), await over_grpc(gateway, key)] == ["RATE_LIMITED"] * 2
        await store.revoke_key(number)
        for one in (gateway, replica):
            await until(one, ticket, "KEY_INVALID")
            assert await over_grpc(one, other) == "KEY_INVALID"
    await database.dispose()
