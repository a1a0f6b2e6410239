"""What an account holds of the native coin and of known tokens, in one execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.capabilities import Holding, Holdings, is_accepted
from server.chains.evm.reads.multicall import Call, Outcome, eth_balance_call
from server.chains.evm.tokens import BALANCE_OF, DECIMALS
from server.contracts.address import address_bytes, parse_address
from server.contracts.words import address_word, word
from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities import KnownAsset
    from server.chains.evm.chain import EvmChain
    from server.chains.evm.reads.cached import RememberedReads
    from server.chains.view import ReadView

_MOST_DECIMALS = 255


class HoldingReader:
    """Reads the holdings of one chain's accounts. Decimals are asked for once, for tokens do not change them."""

    def __init__(self, chain: EvmChain, reads: RememberedReads) -> None:
        self._chain = chain
        self._reads = reads
        self._decimals: dict[str, int] = reads.facts("decimals")

    def check_holder(self, address: str) -> str:
        """Return the address with its EIP-55 checksum; InvalidArgument for what is none."""
        return parse_address(address, "address")

    def is_holder(self, address: str) -> bool:
        """Return whether the text is an EVM address."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the balances that are not zero, all of one block: one request.

        Decimals are the contract's; a contract that tells none has those that it is known by. One that refuses to tell
        a balance, or tells none, is unread; where no code is there is nothing to read.
        """
        account = parse_address(address, "address")
        holder = address_bytes(account)
        unknown = [asset for asset in assets if asset.address not in self._decimals]
        calls = [
            eth_balance_call(self._chain.multicall, holder),
            *(Call(address_bytes(asset.address), BALANCE_OF + address_word(holder)) for asset in assets),
            *(Call(address_bytes(asset.address), DECIMALS) for asset in unknown),
        ]
        native, *outcomes = await self._reads.read_shared(view, calls)
        for asset, outcome in zip(unknown, outcomes[len(assets) :], strict=True):
            told = _number(outcome)
            if told is not None and told <= _MOST_DECIMALS:
                self._decimals[asset.address] = told
        coin = _number(native)
        if coin is None:
            raise UpstreamUnavailable(f"the nodes of {self._chain.slug} did not answer a balance")
        rows = [Holding(None, coin, self._chain.facts.native.decimals)]
        unread = []
        for asset, outcome in zip(assets, outcomes, strict=False):
            raw = _number(outcome)
            if raw is None and not _is_nothing(outcome):
                unread.append(asset.address)
            rows.append(Holding(asset.address, raw or 0, self._decimals.get(asset.address, asset.decimals)))
        return Holdings(account, view.block, tuple(row for row in rows if row.raw), tuple(unread))


def _is_nothing(outcome: Outcome) -> bool:
    return outcome.success and not outcome.data


def _number(outcome: Outcome) -> int | None:
    return word(outcome.data) if outcome.success and len(outcome.data) >= 32 else None
