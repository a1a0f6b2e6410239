"""Finds the report of an aggregator that is a week older than its current one, in few rounds of calls.

Numbers of rounds grow with time, but nothing states how many there are a day. So the first calls read the last
rounds and for ever more distant ones, the next ones divide what is left between the nearest that is old enough and the
nearest that is not. A round that is none (a gap, a phase that begins) reports nothing and is passed over.

A number holds a phase in its upper bits where aggregators were replaced behind a proxy (Chainlink: number of the phase
times 2^64). Only rounds of the current phase are looked at: nothing states how many an earlier one has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.protocols.yields import WEEK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from server.protocols.data_feeds import Round

    Known = Mapping[int, Round | None]

PERIOD = int(WEEK_SECONDS)
"""How much older the earlier price is at least, in seconds."""

_NEAR = 32
_WIDTH = 128
_PHASE_BITS = 64


def find_earlier(known: Known, latest: Round) -> Round | None:
    """Return the last of the known rounds that is at least `PERIOD` older than the current one; None without any."""
    until = latest.at - PERIOD
    found = [one for one in known.values() if one is not None and one.number < latest.number and one.at <= until]
    return max(found, key=lambda one: one.number, default=None)


def next_numbers(known: Known, latest: Round) -> list[int]:
    """Return the rounds to read next, none once the one before the period is found; `known` holds what is there.

    None in `known` stands for a round that was read and is none.
    """
    earlier = find_earlier(known, latest)
    first = (latest.number >> _PHASE_BITS << _PHASE_BITS) + 1
    below = first - 1 if earlier is None else earlier.number
    until = latest.at - PERIOD
    young = (one.number for one in known.values() if one is not None and below < one.number < latest.number)
    above = min((number for number in young if _is_young(known, number, until)), default=latest.number)
    asked = sum(1 for number in known if below < number < above)
    left = above - below - 1 - asked
    if left <= 0:
        return []
    if left <= _WIDTH:
        return [number for number in range(below + 1, above) if number not in known]
    wanted = _spread(below, above) if earlier is not None or above < latest.number or asked else _back(first, above)
    fresh = sorted({number for number in wanted if below < number < above} - known.keys())
    # Gaps may have taken all of them: then whatever is next to the nearest one.
    return fresh or [next(number for number in range(above - 1, below, -1) if number not in known)]


def _is_young(known: Known, number: int, until: int) -> bool:
    one = known[number]
    return one is not None and one.at > until


def _back(first: int, above: int) -> Iterator[int]:
    """Yield the last rounds before one, then ever more distant ones, and the first."""
    yield from range(max(above - _NEAR, first), above)
    distance = 2 * _NEAR
    while above - distance > first:
        yield above - distance
        distance *= 2
    yield first


def _spread(below: int, above: int) -> Iterator[int]:
    """Yield rounds that divide those between two into equal parts."""
    for part in range(1, _WIDTH + 1):
        yield below + (above - below) * part // (_WIDTH + 1)
