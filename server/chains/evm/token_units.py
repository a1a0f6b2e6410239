"""Symbols and decimals of the tokens that a list of transfers names.

The tokens come out of logs, so anybody may have made them: each is read in an execution of its own, and one that fails
leaves only its own transfers without a symbol. All of them leave in one turn, one round trip. Tokens that are made to
be slow cost the page their symbols, not the page.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from server.chains.evm.reads.multicall import Call
from server.chains.evm.tokens import DECIMALS, SYMBOL
from server.chains.view import ReadView
from server.contracts.address import address_bytes
from server.contracts.text import read_text
from server.contracts.words import word
from server.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from server.chains.evm.reads.multicall import Outcome

MAX_TOKENS = 200
"""Most tokens that are asked about at once; the others stay without symbol."""

_MAX_DECIMALS = 255
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
        """Return the units of the tokens (checksummed addresses) that could be read; nothing is raised for others.

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
