"""WatchBalances: accounts' balances as they are, then each one that changes."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import stream_state_pb2

from server.chains.capabilities.accounts import Balance, ReadsBalances, ReadsHoldings, ReadsTokenBalances
from server.chains.view import ReadView
from server.contracts.words import decimal_text
from server.errors import GatewayError, InvalidArgument
from server.streams.chain_values import ChainValues
from server.streams.events import Event
from server.streams.values import PACE_SECONDS, Reading, gather_outcomes, read_looks
from server.upstream.cache import CacheContext

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from waypost.v1 import common_pb2

    from server.chains.registry import Chain, Chains
    from server.streams.chain_values import Heads
    from server.streams.values import Charge, Moment, Seen

READ_SECONDS = 10.0
"""How long the nodes have for a look."""

# Reads of one moment leave together; of more items than that, one such part after the other.
_MOST_AT_ONCE = 1_000


class Account(NamedTuple):
    """What is watched on a chain: an address and a token (None: the native coin), both as the chain writes them."""

    address: str
    token: str | None


class _Place(NamedTuple):
    """One item of a request: its account, and address and token as its answers show them."""

    item: int
    account: Account
    address: str
    token: str


class BalanceWatches:
    """The balances that streams watch, each read once a block for all of them.

    `heads` brings the newest blocks of a chain; `row_error` writes a failure for callers.
    """

    def __init__(
        self,
        chains: Chains,
        heads: Heads,
        row_error: Callable[[GatewayError], common_pb2.RowError],
        *,
        pace: float = PACE_SECONDS,
    ) -> None:
        self._chains = chains
        self._row_error = row_error
        self._values: ChainValues[Account, Balance] = ChainValues(chains, heads, _read, pace)

    def check(self, item: stream_state_pb2.WatchBalancesItem) -> Account:
        """Return what an item watches; InvalidArgument, naming `address` or `token`, for what can never be right."""
        chain = self._chains.get(item.chain)
        address = chain.capability(ReadsHoldings).check_holder(item.address)
        capabilities = chain.driver.capabilities
        if not item.token:
            if ReadsBalances not in capabilities:
                raise InvalidArgument(
                    f"token is required on {chain.slug}: name the denom, for example {chain.native.denom}",
                    field="token",
                )
            return Account(address, None)
        if ReadsTokenBalances not in capabilities:
            raise InvalidArgument(f"token: {chain.slug} has no tokens; leave it out", field="token")
        return Account(address, chain.capability(ReadsTokenBalances).check_token(item.token))

    async def watch(self, request: stream_state_pb2.WatchBalancesRequest, charge: Charge) -> AsyncGenerator[Event]:
        """Yield the present value of every item, then each one that changes; `charge` is paid an item looked at.

        Raises InvalidArgument as `check`.
        """
        by_chain: dict[str, list[_Place]] = {}
        for index, item in enumerate(request.items):
            account = self.check(item)
            address = self._chains.canonical_address(item.chain, item.address)
            token = item.token and self._chains.canonical_address(item.chain, item.token)
            by_chain.setdefault(item.chain, []).append(_Place(index, account, address, token))
        wake = asyncio.Event()
        watches = {
            self._values.of(slug).watch([place.account for place in places], wake): slug
            for slug, places in by_chain.items()
        }
        sent: dict[int, object] = {}
        async with aclosing(read_looks(tuple(watches), charge)) as looks:
            async for watch, seen in looks:
                slug = watches[watch]
                for place in by_chain[slug]:
                    found = seen[place.account]
                    content = _content(found)
                    if sent.get(place.item) != content:
                        sent[place.item] = content
                        yield Event(found.payload(place, partial(self._write, slug, place, found)))

    async def close(self) -> None:
        """Read nothing any more."""
        await self._values.close()

    def _write(self, slug: str, place: _Place, seen: Seen[Balance]) -> bytes:
        response = stream_state_pb2.WatchBalancesResponse(
            item=place.item, chain=slug, address=place.address, token=place.token
        )
        outcome = seen.outcome
        if isinstance(outcome, GatewayError):
            response.error.CopyFrom(self._row_error(outcome))
        else:
            response.value.CopyFrom(
                stream_state_pb2.WatchedBalance(
                    amount=decimal_text(outcome.raw, outcome.decimals or 0),
                    raw=str(outcome.raw),
                    decimals=outcome.decimals,
                    block_number=outcome.block,
                    stalled=seen.moment.is_stalled,
                )
            )
        return response.SerializeToString()


async def _read(
    chain: Chain, accounts: Sequence[Account], moment: Moment, known: Mapping[Account, Balance | GatewayError]
) -> Reading[Account, Balance]:
    """Return the balances; one that is older than what is known already stays what it was."""
    newest = None if moment.head is None else moment.head.number
    outcomes: dict[Account, Balance | GatewayError] = {}
    for start in range(0, len(accounts), _MOST_AT_ONCE):
        part = accounts[start : start + _MOST_AT_ONCE]
        outcomes |= await gather_outcomes({account: _read_one(chain, account) for account in part})
    is_behind = False
    for account, outcome in outcomes.items():
        if newest is None or isinstance(outcome, GatewayError) or outcome.block is None or outcome.block >= newest:
            continue
        is_behind = True
        before = known.get(account)
        # After a reorganisation to a lower block what was known is of a block that is gone.
        if isinstance(before, Balance) and outcome.block < (before.block or 0) <= newest:
            outcomes[account] = before
    return Reading(outcomes, is_behind)


async def _read_one(chain: Chain, account: Account) -> Balance:
    # Past the cache: there is a newer block than what it may hold is of.
    view = ReadView(deadline=time.monotonic() + READ_SECONDS, cache=CacheContext(bypass=True))
    if account.token is None:
        return await chain.capability(ReadsBalances).read_balance(account.address, view)
    return await chain.capability(ReadsTokenBalances).read_token_balance(account.address, account.token, view)


def _content(seen: Seen[Balance]) -> object:
    """Return what makes two values the same for their readers: the block that they are of does not."""
    outcome = seen.outcome
    if isinstance(outcome, GatewayError):
        return outcome.reason
    return outcome.raw, outcome.decimals, seen.moment.is_stalled
