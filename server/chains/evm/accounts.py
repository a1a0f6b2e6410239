"""Native balances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.capabilities import Balance
from server.chains.evm.reads.multicall import eth_balance_call
from server.contracts.address import address_bytes, parse_address
from server.contracts.words import word
from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from server.chains.evm.chain import EvmChain
    from server.chains.evm.heights import Heights
    from server.chains.evm.reads.cached import RememberedReads
    from server.chains.view import ReadView


class AccountReader:
    """Reads accounts of one chain."""

    def __init__(self, chain: EvmChain, reads: RememberedReads, heights: Heights) -> None:
        self._chain = chain
        self._reads = reads
        self._heights = heights

    def canonical_address(self, text: str) -> str:
        """Return the address with its EIP-55 checksum; InvalidArgument for what is none."""
        return parse_address(text, "address")

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the native balance of the account in wei.

        Multicall3's getEthBalance touches nothing but the balance, so balances of different callers share one
        execution.
        """
        account = parse_address(address, "address")
        call = eth_balance_call(self._chain.multicall, address_bytes(account))
        read = self._reads.read_shared(view, (call,))
        outcomes = await (read if view.block is None else self._heights.explain(read, view))
        if not outcomes[0].success or view.block is None:
            raise UpstreamUnavailable(f"the nodes of {self._chain.slug} did not answer a balance")
        try:
            raw = word(outcomes[0].data)
        except ValueError:
            raise UpstreamUnavailable(f"the nodes of {self._chain.slug} answered a malformed balance") from None
        return Balance(account, view.block, raw, self._chain.facts.native.decimals)
