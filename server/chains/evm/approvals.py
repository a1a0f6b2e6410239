"""Allowances that a wallet gave the spenders everybody knows, and how it takes one back (EIP-20)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.catalog.approvals import KnownApprovals, load_known_approvals
from server.chains.capabilities import Approval, Approvals, UnsignedCall
from server.chains.evm.reads.multicall import Call
from server.chains.evm.tokens import ALLOWANCE, DECIMALS, read_decimals
from server.contracts.address import address_bytes, parse_address
from server.contracts.words import address_word, word

if TYPE_CHECKING:
    from server.chains.evm.heights import Heights
    from server.chains.evm.reads.cached import RememberedReads
    from server.chains.evm.reads.multicall import Outcome
    from server.chains.view import ReadView

APPROVE = bytes.fromhex("095ea7b3")

_NOTHING = KnownApprovals((), ())


class ApprovalReader:
    """Reads the allowances of one chain's known spenders for its known tokens, all in one execution."""

    def __init__(self, slug: str, reads: RememberedReads, heights: Heights) -> None:
        self._known = load_known_approvals().get(slug, _NOTHING)
        self._reads = reads
        self._heights = heights

    async def read_approvals(self, address: str, view: ReadView) -> Approvals:
        """Return the allowances that are not zero, token by token.

        A token that was not deployed at the block, or refuses to tell, has none.
        """
        owner = parse_address(address, "address")
        outcomes = await self._heights.explain(self._reads.read_shared(view, self._calls(owner)), view)
        found = []
        rows = iter(outcomes)
        for token in self._known.tokens:
            decimals = read_decimals(next(rows))
            for spender in self._known.spenders:
                raw = _allowance(next(rows))
                if raw:
                    found.append(Approval(token.symbol, token.address, spender.name, spender.address, raw, decimals))
        return Approvals(owner, view.block or 0, tuple(found))

    def revoke_approval(self, address: str, token: str, spender: str) -> UnsignedCall:
        """Return the call of `approve(spender, 0)` that the wallet has to sign."""
        owner = parse_address(address, "address")
        contract = parse_address(token, "token")
        mover = parse_address(spender, "spender")
        data = APPROVE + address_word(address_bytes(mover)) + bytes(32)
        return UnsignedCall(to=contract, sender=owner, data=data)

    def _calls(self, owner: str) -> list[Call]:
        calls = []
        for token in self._known.tokens:
            target = address_bytes(token.address)
            calls.append(Call(target, DECIMALS))
            for spender in self._known.spenders:
                words = address_word(address_bytes(owner)) + address_word(address_bytes(spender.address))
                calls.append(Call(target, ALLOWANCE + words))
        return calls


def _allowance(outcome: Outcome) -> int:
    return word(outcome.data) if outcome.success and len(outcome.data) >= 32 else 0
