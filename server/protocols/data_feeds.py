"""Data feeds of issuers of funds: a price that the issuer reports to an aggregator, guarded by age and bounds.

A data feed refuses a report that is older than it takes for healthy, or out of its bounds. All that decides that is
read in one execution, so that the two can be distinguished: an old report within the bounds is answered with its own
time, one out of bounds is no price.

Source: the contracts of tokenized-a, contracts/feeds, DataFeed.sol (`_getDataInBase18`) and
CustomAggregatorV3CompatibleFeed.sol, commit bfe2b5f.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from server.contracts.interface import Interface
from server.errors import PriceUnavailable
from server.protocols.plan import ContractUnreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered

_FEED = Interface.load("server.protocols", "data_feed")
_AGGREGATOR = _FEED["aggregator"]
_DATA = _FEED["getDataInBase18"]
_HEALTHY = _FEED["healthyDiff"]
_BOUNDS = _FEED["minExpectedAnswer"], _FEED["maxExpectedAnswer"]
_OWN_BOUNDS = _FEED["minAnswer"], _FEED["maxAnswer"]
_DECIMALS = _FEED["decimals"]
_LATEST = _FEED["latestRoundData"]
_ROUND = _FEED["getRoundData"]

# Five words of storage each, behind proxies; measured 17,000 and 25,000 without them.
_ROUND_GAS = 60_000
_DATA_GAS = 120_000

_UNIT = 10**18
_MOST_DECIMALS = 36
# A report from after the block that it is read at is none; nodes' clocks differ by that much at most.
_AHEAD_SECONDS = 60
_RETRY_MS = 60_000


class Source(NamedTuple):
    """Where a price is reported: the data feed, "" where there is none, and the aggregator that it reads."""

    data_feed: str
    aggregator: str


class Round(NamedTuple):
    """One report: `answer` with the aggregator's decimals, `at` in unix seconds."""

    number: int
    answer: int
    at: int


class Report(NamedTuple):
    """The price of a share, in the feed's denomination.

    `reported_at` is None where the feed vouches for the price at the block, else the time of the report, which is older
    than the feed takes for healthy. `round` is the aggregator's current one.
    """

    price: Fraction
    reported_at: datetime | None
    round: Round


def report_calls(source: Source) -> tuple[ContractCall, ...]:
    """Return the calls that `read_aggregator` and `read_report` read."""
    aggregator = _DECIMALS.call(source.aggregator), _LATEST.call(source.aggregator, gas=_ROUND_GAS)
    if not source.data_feed:
        return *aggregator, *(bound.call(source.aggregator) for bound in _OWN_BOUNDS)
    feed = source.data_feed
    guards = [one.call(feed) for one in (*_BOUNDS, _AGGREGATOR, _HEALTHY)]
    return *aggregator, *guards, _DATA.call(feed, gas=_DATA_GAS)


def latest_call(aggregator: str) -> ContractCall:
    """Return the call of the current round, which `read_round` reads."""
    return _LATEST.call(aggregator, gas=_ROUND_GAS)


def round_call(aggregator: str, number: int) -> ContractCall:
    """Return the call of a round, which `read_round` reads. Where there is none some aggregators revert."""
    return _ROUND.call(aggregator, number, gas=_ROUND_GAS, is_optional=True)


def read_round(answered: Answered, number: int | None = None) -> Round | None:
    """Return a round; None for one that is none, not complete, without a price above zero, or another than `number`."""
    found = answered.read_if_answered(_ROUND if number is not None else _LATEST)
    if found is None:
        return None
    one = Round(found[0], found[1], found[3])
    is_right = number is None or one.number == number
    return one if is_right and one.answer > 0 and one.at > 0 else None


def read_aggregator(source: Source, answered: Sequence[Answered]) -> str:
    """Return the aggregator that the data feed reads now, which administrators may change."""
    return str(answered[4].read_one(_AGGREGATOR)) if source.data_feed else source.aggregator


def read_report(source: Source, answered: Sequence[Answered], now: datetime) -> Report:
    """Return the price; `now` is the time of the block.

    Raises:
        PriceUnavailable: nothing is reported, or what is reported is out of bounds.
        ContractUnreadable: a contract does not answer as it does.
    """
    decimals = answered[0].read_one(_DECIMALS)
    if decimals > _MOST_DECIMALS:
        raise ContractUnreadable(
            f"the aggregator {source.aggregator} has {decimals} decimals", retry_after_ms=_RETRY_MS
        )
    number, answer, _, at, _ = answered[1].read(_LATEST)
    functions = _BOUNDS if source.data_feed else _OWN_BOUNDS
    least, most = (one.read_one(bound) for one, bound in zip(answered[2:4], functions, strict=True))
    if at == 0 or answer <= 0:
        raise _no_price(source, "reports no price")
    if not least <= answer <= most:
        raise _no_price(source, "reports a price out of the bounds that its issuer has set")
    age = int(now.timestamp()) - at
    if age < -_AHEAD_SECONDS:
        raise _no_price(source, "reports a price of a time to come")
    current, reported_at = Round(number, answer, at), datetime.fromtimestamp(at, UTC)
    if source.data_feed:
        vouched = answered[6].read_if_answered(_DATA)
        if vouched is not None and vouched[0]:
            return Report(Fraction(vouched[0], _UNIT), None, current)
        if age <= answered[5].read_one(_HEALTHY):
            raise ContractUnreadable(
                f"the data feed {source.data_feed} gives no price for a report that it takes for healthy; try again",
                retry_after_ms=1000,
            )
    return Report(Fraction(answer, 10**decimals), reported_at, current)


def _no_price(source: Source, why: str) -> PriceUnavailable:
    return PriceUnavailable(f"the feed {source.data_feed or source.aggregator} {why}", retry_after_ms=_RETRY_MS)
