"""ERC-20 tokens, the odd ones included (EIP-20 leaves name, symbol and decimals optional)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import token_pb2

from server.chains.capabilities import Allowance, Balance, TokenFacts
from server.chains.evm.reads.multicall import Call, Outcome
from server.contracts.address import address_bytes, parse_address
from server.contracts.text import read_text
from server.contracts.words import address_word, word
from server.errors import NotAToken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.evm.heights import Heights
    from server.chains.evm.reads.cached import RememberedReads
    from server.chains.view import ReadView

BALANCE_OF = bytes.fromhex("70a08231")
ALLOWANCE = bytes.fromhex("dd62ed3e")
DECIMALS = bytes.fromhex("313ce567")
SYMBOL = bytes.fromhex("95d89b41")
NAME = bytes.fromhex("06fdde03")
TOTAL_SUPPLY = bytes.fromhex("18160ddd")

_MAX_DECIMALS = 255


class TokenReader:
    """Reads token contracts that callers name, each request in an execution of its own."""

    def __init__(self, chain: EvmChain, reads: RememberedReads, heights: Heights) -> None:
        self._chain = chain
        self._reads = reads
        self._heights = heights

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """Return how much of `token` the account holds, in the smallest unit; decimals 0 where it states none."""
        account = parse_address(address, "address")
        contract = parse_address(token, "token")
        target = address_bytes(contract)
        calls = (Call(target, BALANCE_OF + address_word(address_bytes(account))), Call(target, DECIMALS))
        balance, decimals = await self._read(calls, view)
        raw = self._required(balance, contract, "balanceOf", "token")
        return Balance(account, view.block or 0, raw, read_decimals(decimals), contract)

    async def read_token(self, address: str, view: ReadView) -> TokenFacts:
        """Return name, symbol, decimals and raw supply; what tells a token is that it answers totalSupply."""
        contract = parse_address(address, "address")
        target = address_bytes(contract)
        calls = [Call(target, selector) for selector in (TOTAL_SUPPLY, NAME, SYMBOL, DECIMALS)]
        supply, name, symbol, decimals = await self._read(calls, view)
        return TokenFacts(
            address=contract,
            block=view.block or 0,
            name=_text(name),
            symbol=_text(symbol),
            decimals=read_decimals(decimals),
            total_supply=self._required(supply, contract, "totalSupply", "address"),
        )

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """Return what `read_token` returns as a message, without `chain`."""
        token = await self.read_token(address, view)
        return token_pb2.GetTokenMetadataResponse(
            address=token.address,
            evm=token_pb2.EvmTokenMetadata(
                block_height=token.block,
                name=token.name,
                symbol=token.symbol,
                decimals=token.decimals,
                total_supply=str(token.total_supply),
            ),
        )

    async def read_allowance(self, token: str, owner: str, spender: str, view: ReadView) -> Allowance:
        """Return how much of `owner`'s tokens `spender` may move, in the token's smallest unit."""
        contract = parse_address(token, "address")
        holder = parse_address(owner, "owner")
        mover = parse_address(spender, "spender")
        target = address_bytes(contract)
        arguments = address_word(address_bytes(holder)) + address_word(address_bytes(mover))
        calls = (Call(target, ALLOWANCE + arguments), Call(target, SYMBOL), Call(target, DECIMALS))
        allowance, symbol, decimals = await self._read(calls, view)
        return Allowance(
            token=contract,
            owner=holder,
            spender=mover,
            block=view.block or 0,
            raw=self._required(allowance, contract, "allowance", "address"),
            decimals=read_decimals(decimals),
            symbol=_text(symbol),
        )

    def _read(self, calls: Sequence[Call], view: ReadView) -> Awaitable[list[Outcome]]:
        read = self._reads.read_alone(view, calls)
        return read if view.block is None else self._heights.explain(read, view)

    def _required(self, outcome: Outcome, contract: str, function: str, field: str) -> int:
        if outcome.success and len(outcome.data) >= 32:
            return word(outcome.data)
        if outcome.success and not outcome.data:
            message = f"{contract} on {self._chain.slug} is no token: nothing there answers {function}"
        else:
            message = f"{contract} on {self._chain.slug} is no token: it does not answer {function} as ERC-20 asks"
        raise NotAToken(message, field=field)


def read_decimals(outcome: Outcome) -> int:
    """Return what `decimals()` told, 0 where the contract has none or states an impossible number.

    Source: decisions section 3.2.
    """
    if not outcome.success or len(outcome.data) < 32:
        return 0
    decimals = word(outcome.data)
    return decimals if decimals <= _MAX_DECIMALS else 0


def _text(outcome: Outcome) -> str | None:
    return read_text(outcome.data) if outcome.success else None
