"""Chains of the other families with a stream's endpoints, and ways to make payments on them."""

from __future__ import annotations

import base64
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cosmpy.protos.cosmos.bank.v1beta1.tx_pb2 import MsgSend

from devnet import known_cosmos
from devnet.cosmos.process import CosmosChains
from devnet.cosmos.transactions import Signer, coin, fee_of, hash_of, sign
from devnet.cosmos.world import CHAINS, address, key
from devnet.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    import aiohttp

    from devnet.local_chain import Endpoint

HUB = CHAINS["cosmoshub"]


def settings_of(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the settings of a local chain."""
    return {"endpoints": [one.settings() for one in endpoints], "mines_at_will": True}


class Hub:
    """A Cosmos chain that makes a block with every transaction."""

    def __init__(self, chains: CosmosChains, session: aiohttp.ClientSession) -> None:
        self.settings = {"cosmoshub": settings_of(chains.endpoints["cosmoshub"])}
        self._url = next(one.url for one in chains.endpoints["cosmoshub"] if one.kind == "rest")
        self._session = session

    async def sign(self, amount: int) -> bytes:
        """Return ALICE's signed payment to BOB, in base units."""
        sender, receiver = (address(HUB, name) for name in (known_cosmos.ALICE, known_cosmos.BOB))
        async with self._session.get(f"{self._url}/cosmos/auth/v1beta1/accounts/{sender}") as response:
            account = (await response.json())["account"]
        signer = Signer(key(known_cosmos.ALICE), HUB.chain_id, int(account["account_number"]))
        message = MsgSend(from_address=sender, to_address=receiver, amount=[coin(HUB.denom, amount)])
        return sign(signer, int(account["sequence"]), [message], fee_of(HUB.denom))

    async def send(self, data: bytes) -> str:
        """Send a transaction, which makes a block, and return its hash."""
        body = {"tx_bytes": base64.b64encode(data).decode(), "mode": "BROADCAST_MODE_SYNC"}
        async with self._session.post(f"{self._url}/cosmos/tx/v1beta1/txs", json=body) as response:
            answer = (await response.json())["tx_response"]
        assert answer["code"] == 0, answer
        assert answer["txhash"] == hash_of(data)
        return hash_of(data)


@asynccontextmanager
async def open_hub(session: aiohttp.ClientSession) -> AsyncIterator[Hub]:
    chains = CosmosChains(["cosmoshub"], mines=False)
    with Watchdog() as guard:
        await chains.start(guard)
        yield Hub(chains, session)
        await chains.stop()
