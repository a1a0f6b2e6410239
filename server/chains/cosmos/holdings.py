"""What an account holds of known denoms, the chain's own among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.capabilities import Holding, Holdings, is_accepted
from server.chains.cosmos.members import Digits  # noqa: TC001 - msgspec evaluates the annotations
from server.chains.cosmos.names import parse_account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities import KnownAsset
    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.view import ReadView

_BALANCES = "/cosmos/bank/v1beta1/balances"


class _Coin(msgspec.Struct):
    denom: str
    amount: Digits


class _Answer(msgspec.Struct):
    balances: list[_Coin]


class HoldingReader:
    """Reads the holdings of one chain's accounts."""

    def __init__(self, nodes: CosmosNodes) -> None:
        self._nodes = nodes

    def check_holder(self, address: str) -> str:
        """Return the address; InvalidArgument for what is no account of the chain."""
        return parse_account(address, self._nodes.facts.bech32, "address")

    def is_holder(self, address: str) -> bool:
        """Return whether the text is an account of the chain."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the account's balances of the own and the known denoms; one request per 200 denoms that it holds."""
        native = self._nodes.facts.native
        account = self.check_holder(address)
        coins = await self._nodes.pages(
            _BALANCES, view, _read_coins, lambda coin: coin.denom, path=f"{_BALANCES}/{account}"
        )
        amounts = {coin.denom: int(coin.amount) for coin in coins}
        rows = [Holding(None, amounts.get(native.denom or "", 0), native.decimals)]
        rows += [Holding(asset.address, amounts.get(asset.address, 0), asset.decimals) for asset in assets]
        return Holdings(address, view.block, tuple(row for row in rows if row.raw))


def _read_coins(body: bytes) -> list[_Coin]:
    return msgspec.json.decode(body, type=_Answer).balances
