"""ERC-20 tokens, the odd ones included (EIP-20 leaves much optional): metadata, balances, approvals."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from waypost.v1 import token_pb2

from server.catalog.approvals import KnownApprovals, load_known_approvals
from server.chains.capabilities.accounts import (
    Allowance,
    Approval,
    Approvals,
    Balance,
    Holding,
    Holdings,
    ReadsAllowances,
    ReadsApprovals,
    ReadsHoldings,
    ReadsTokenBalances,
    ReadsTokenMetadata,
    TokenFacts,
    UnsignedCall,
    is_accepted,
)
from server.chains.evm.reads.multicall import Call, Outcome, eth_balance_call
from server.chains.view import ReadView
from server.contracts.address import address_bytes, parse_address
from server.contracts.calls import read_text
from server.contracts.words import address_word, word
from server.errors import GatewayError, NotAToken, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from server.chains.capabilities.accounts import KnownAsset
    from server.chains.evm.chain import EvmChain
    from server.chains.evm.newest import Heights
    from server.chains.evm.reads.cached import CachedReads
    from server.chains.evm.reads.multicall import Outcome


BALANCE_OF = bytes.fromhex("70a08231")
ALLOWANCE = bytes.fromhex("dd62ed3e")
DECIMALS = bytes.fromhex("313ce567")
SYMBOL = bytes.fromhex("95d89b41")
NAME = bytes.fromhex("06fdde03")
TOTAL_SUPPLY = bytes.fromhex("18160ddd")

_MAX_DECIMALS = 255


class TokenReader(ReadsTokenBalances, ReadsTokenMetadata, ReadsAllowances):
    """Reads token contracts that callers name, each request in an execution of its own."""

    def __init__(self, chain: EvmChain, reads: CachedReads, heights: Heights) -> None:
        self._chain = chain
        self._reads = reads
        self._heights = heights

    def check_token(self, token: str) -> str:
        """Return the address with its EIP-55 checksum; InvalidArgument for what is none."""
        return parse_address(token, "token")

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
        """Return name, symbol, decimals and raw supply; a token is recognised by an answer to totalSupply."""
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
        return read if view.block is None else self._heights.explain_block_error(read, view)

    def _required(self, outcome: Outcome, contract: str, function: str, field: str) -> int:
        if outcome.success and len(outcome.data) >= 32:
            return word(outcome.data)
        if outcome.success and not outcome.data:
            message = f"{contract} on {self._chain.slug} is no token: nothing there answers {function}"
        else:
            message = f"{contract} on {self._chain.slug} is no token: it does not answer {function} as ERC-20 asks"
        raise NotAToken(message, field=field)


def read_decimals(outcome: Outcome) -> int:
    """Return what `decimals()` returned, 0 where the contract has none or states an impossible number.

    Source: decisions section 3.2.
    """
    if not outcome.success or len(outcome.data) < 32:
        return 0
    decimals = word(outcome.data)
    return decimals if decimals <= _MAX_DECIMALS else 0


def _text(outcome: Outcome) -> str | None:
    return read_text(outcome.data) if outcome.success else None


# The tokens come out of logs, so anyone may have deployed them: each is read in an execution of its own, and one that
# fails leaves only its own transfers without a symbol. All of them leave in one turn, one round trip. Tokens that are
# made to be slow cost the page their symbols, not the page.

MAX_TOKENS = 200
"""Most tokens that are read at once; the others stay without symbol."""

# Of the caller's time, once the page is there: the rest is for answering.
_SHARE = 0.5


class TokenUnit(NamedTuple):
    """What a token counts in: its symbol, None where it has none, and its decimals, 0 where it has none."""

    symbol: str | None
    decimals: int


class ReadsAlone(Protocol):
    """Runs calls of one caller's choice in an execution of their own."""

    async def read_alone(self, view: ReadView, calls: Sequence[Call]) -> list[Outcome]:
        """See `ReadPlanner.read_alone`."""
        ...


class TokenUnits:
    """Reads units on one chain. `clock` in seconds, as deadlines are."""

    def __init__(self, reads: ReadsAlone, clock: Callable[[], float] = time.monotonic) -> None:
        self._reads = reads
        self._clock = clock

    async def read(self, tokens: Iterable[str], deadline: float | None) -> dict[str, TokenUnit]:
        """Return the units of the tokens (checksummed addresses) that could be read; no error is raised for others.

        It takes half of the time to `deadline` at most.
        """
        now = self._clock()
        seconds = None if deadline is None else max(deadline - now, 0.0) * _SHARE
        wanted = list(dict.fromkeys(tokens))[:MAX_TOKENS]
        units = await asyncio.gather(*(self._read_one(token, seconds, now) for token in wanted))
        return {token: unit for token, unit in zip(wanted, units, strict=True) if unit is not None}

    async def _read_one(self, token: str, seconds: float | None, now: float) -> TokenUnit | None:
        target = address_bytes(token)
        calls = (Call(target, SYMBOL), Call(target, DECIMALS))
        view = ReadView(deadline=None if seconds is None else now + seconds)
        try:
            async with asyncio.timeout(seconds):
                symbol, decimals = await self._reads.read_alone(view, calls)
        except (GatewayError, TimeoutError):
            return None
        text = read_text(symbol.data) if symbol.success else None
        if decimals.success and len(decimals.data) >= 32 and word(decimals.data) <= _MAX_DECIMALS:
            return TokenUnit(text, word(decimals.data))
        return None if text is None else TokenUnit(text, 0)


_MOST_DECIMALS = 255


class HoldingReader(ReadsHoldings):
    """Reads the holdings of one chain's accounts. Decimals are asked for once, for tokens do not change them."""

    def __init__(self, chain: EvmChain, reads: CachedReads) -> None:
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

        Decimals are the contract's; a contract without them has the listed ones. One that refuses to return
        a balance, or returns none, is unread; an address without code is left out.
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
            decimals = _number(outcome)
            if decimals is not None and decimals <= _MOST_DECIMALS:
                self._decimals[asset.address] = decimals
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


APPROVE = bytes.fromhex("095ea7b3")

_NOTHING = KnownApprovals((), ())


class ApprovalReader(ReadsApprovals):
    """Reads the allowances of one chain's known spenders for its known tokens, all in one execution."""

    def __init__(self, slug: str, reads: CachedReads, heights: Heights) -> None:
        self._known = load_known_approvals().get(slug, _NOTHING)
        self._reads = reads
        self._heights = heights

    async def read_approvals(self, address: str, view: ReadView) -> Approvals:
        """Return the allowances that are not zero, token by token.

        A token that was not deployed at the block, or does not return one, has none.
        """
        owner = parse_address(address, "address")
        outcomes = await self._heights.explain_block_error(self._reads.read_shared(view, self._calls(owner)), view)
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
