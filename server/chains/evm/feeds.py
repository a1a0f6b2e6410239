"""Price feeds of EVM chains: how each kind is asked, and how its answer is read.

Sources: Chainlink AggregatorV3Interface and sequencer uptime feeds; Pyth IPyth.getPriceUnsafe; the oracle of
lend-a V3, BASE_CURRENCY_UNIT and getAssetPrice.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from server.chains.capabilities.contracts import Quote, ReadsFeeds
from server.chains.evm.reads.multicall import Call
from server.contracts.words import address_word, word

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.catalog.feeds import Feed
    from server.chains.evm.reads.cached import CachedReads
    from server.chains.evm.reads.multicall import Outcome
    from server.chains.view import ReadView

DECIMALS = bytes.fromhex("313ce567")
LATEST_ROUND_DATA = bytes.fromhex("feaf968c")
GET_PRICE_UNSAFE = bytes.fromhex("96834ad3")
GET_ASSET_PRICE = bytes.fromhex("b3596f07")
BASE_CURRENCY_UNIT = bytes.fromhex("8c89b64f")

_MOST_DECIMALS = 36
# Pyth: a confidence interval of more than a tenth of the price means that its publishers disagree.
_WIDEST_CONFIDENCE = 10
_SIGN = 1 << 255


class FeedKind(NamedTuple):
    """How feeds of one kind are asked; `read` gets the return data of the calls, raises ValueError for invalid data."""

    calls: Callable[[Feed], tuple[bytes, ...]]
    read: Callable[[Sequence[bytes]], Quote | None]


class FeedReader(ReadsFeeds):
    """Reads feeds of one chain, all in one execution."""

    def __init__(self, reads: CachedReads) -> None:
        self._reads = reads

    async def read_feeds(self, feeds: Sequence[Feed], view: ReadView) -> list[Quote | None]:
        """Return what each feed reports; None where it fails, or reports no price above zero."""
        calls = [Call(_address(feed.address), data) for feed in feeds for data in KINDS[feed.kind].calls(feed)]
        outcomes = iter(await self._reads.read_shared(view, calls))
        return [_quote(feed, [next(outcomes) for _ in KINDS[feed.kind].calls(feed)]) for feed in feeds]


def _quote(feed: Feed, outcomes: Sequence[Outcome]) -> Quote | None:
    if not all(outcome.success for outcome in outcomes):
        return None
    try:
        return KINDS[feed.kind].read([outcome.data for outcome in outcomes])
    except ValueError:
        return None


def _read_chainlink(answers: Sequence[bytes]) -> Quote | None:
    decimals, answer, told_at = word(answers[0]), _signed(answers[1], 1), word(answers[1], 3)
    if answer <= 0 or told_at == 0 or decimals > _MOST_DECIMALS:
        return None
    return Quote(Decimal(answer).scaleb(-decimals), told_at)


def _read_sequencer(answers: Sequence[bytes]) -> Quote | None:
    """Return a quote of 1 if the sequencer runs, as of when it began to; such a feed reports 0 for up."""
    since = word(answers[0], 2)
    return Quote(Decimal(1), since) if _signed(answers[0], 1) == 0 and since > 0 else None


def _read_pyth(answers: Sequence[bytes]) -> Quote | None:
    price, confidence, exponent = _signed(answers[0]), word(answers[0], 1), _signed(answers[0], 2)
    if price <= 0 or confidence * _WIDEST_CONFIDENCE > price or abs(exponent) > _MOST_DECIMALS:
        return None
    return Quote(Decimal(price).scaleb(exponent), word(answers[0], 3))


def _read_lending_oracle(answers: Sequence[bytes]) -> Quote | None:
    unit, price = word(answers[0]), word(answers[1])
    return Quote(Decimal(price) / Decimal(unit), None) if price and unit else None


KINDS: dict[str, FeedKind] = {
    "chainlink": FeedKind(lambda _feed: (DECIMALS, LATEST_ROUND_DATA), _read_chainlink),
    "sequencer": FeedKind(lambda _feed: (LATEST_ROUND_DATA,), _read_sequencer),
    "pyth": FeedKind(lambda feed: (GET_PRICE_UNSAFE + bytes.fromhex(feed.id[2:]),), _read_pyth),
    "lending_oracle": FeedKind(
        lambda feed: (BASE_CURRENCY_UNIT, GET_ASSET_PRICE + address_word(_address(feed.asset))), _read_lending_oracle
    ),
}
"""The kinds of feeds by the word that the catalogue uses."""


def _address(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _signed(data: bytes, index: int = 0) -> int:
    value = word(data, index)
    return value - 2 * _SIGN if value >= _SIGN else value
