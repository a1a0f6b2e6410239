"""What an account holds of known denoms, the chain's own among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.cosmos.names import parse_account
from server.chains.holdings import Holding, Holdings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.holdings import KnownAsset
    from server.chains.view import ReadView

_BALANCES = "/cosmos/bank/v1beta1/balances"
_MOST_DIGITS = 78


class _Coin(msgspec.Struct):
    denom: str
    amount: str


class _Answer(msgspec.Struct):
    balances: list[_Coin] = []


class HoldingReader:
    """Reads the holdings of one chain's accounts."""

    def __init__(self, nodes: CosmosNodes) -> None:
        self._nodes = nodes

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the account's balances of the own and the known denoms; one request per 200 denoms that it holds."""
        native = self._nodes.facts.native
        account = parse_account(address, self._nodes.facts.bech32, "address")
        amounts: dict[str, int] = {}
        for body in await self._nodes.pages(_BALANCES, view, path=f"{_BALANCES}/{account}"):
            for coin in self._nodes.decode(body, _Answer, view.endpoint).balances:
                if not (coin.amount.isascii() and coin.amount.isdigit() and len(coin.amount) <= _MOST_DIGITS):
                    raise self._nodes.malformed(view.endpoint)
                amounts[coin.denom] = int(coin.amount)
        rows = [Holding(None, amounts.get(native.denom or "", 0), native.decimals)]
        rows += [Holding(asset.address, amounts.get(asset.address, 0), asset.decimals) for asset in assets]
        return Holdings(address, view.block, tuple(row for row in rows if row.raw))
