"""What `waypost doctor` asks endpoints: whether each serves its chain, whether that keeps pace, what time it is."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple

from runtime.settings import ChainSettings
from server.chains.capabilities.blocks import ReadsHealth
from server.chains.registry import endpoints_of, open_chain
from server.upstream.endpoint import Endpoint
from server.upstream.failures import Failure, Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.settings import RemoteSettings, Settings
    from server.chains.facts import ChainFacts
    from server.upstream.transport import Session

_PAGE_SECONDS = 5.0
_PAGE_BYTES = 8 << 20
MOST_SECONDS_OFF = 5.0
"""By how much this machine's clock may differ: heads of chains, certificates and Date headers are compared with it."""
# A Date header has whole seconds.
_HALF = 0.5

_WORDS = {
    Trouble.BEHIND: "its newest block is older than it should be",
    Trouble.AHEAD: "endpoints claim blocks that the chain cannot have come to",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the endpoints of a chain or source answered: how many there are, and why by label where one cannot be used.

    `state` is that of a chain that is well, `trouble` why one is not; `offsets` are by how many seconds clocks of
    endpoints are ahead of this machine's.
    """

    check: str
    endpoints: int
    failures: dict[str, str]
    state: str = ""
    trouble: str = ""
    offsets: list[float] = field(default_factory=list)


async def read_chain(facts: ChainFacts, settings: Settings, http: Session) -> Reading:
    """Return what the endpoints of a chain answer: each proves its chain as it would before its first use."""
    endpoints = endpoints_of(facts, settings)
    configured = settings.chains.get(facts.slug)
    mines_at_will = None if configured is None else configured.mines_at_will
    without = ChainSettings.model_construct(endpoints=(), hedge=False, mines_at_will=mines_at_will)
    chain = open_chain(facts, settings.model_copy(update={"chains": {facts.slug: without}}), http)
    try:
        replacements = [
            pool.replace([one for one in endpoints if one.kind == kind], hedge=False)
            for kind, pool in chain.driver.pools.items()
        ]
        proofs, dates = await asyncio.gather(
            asyncio.gather(*(one.prove() for one in replacements)),
            asyncio.gather(*(_read_page(one, http) for one in endpoints)),
        )
        for one in replacements:
            one.apply()
        health = await chain.capability(ReadsHealth).read_health()
        pushes = await asyncio.gather(*(pool.pushes.prove(_PAGE_SECONDS) for pool in chain.driver.pools.values()))
    finally:
        await chain.driver.close()
    failures = {label: f"ws_url: {words}" for failed in pushes for label, words in failed.items()}
    failures |= {label: words for failed in proofs for label, words in failed.items()}
    trouble = "" if len(failures) == len(endpoints) else _WORDS.get(health.trouble, "") if health.trouble else ""
    state = "" if health.height is None else f"newest block {health.height}"
    offsets = [offset for offset in dates if isinstance(offset, float)]
    return Reading(f"chain {facts.slug}", len(endpoints), failures, state, trouble, offsets)


async def read_source(name: str, endpoints: Sequence[RemoteSettings], http: Session) -> Reading:
    """Return whether the endpoints of an off-chain source answer anything over HTTP."""
    answers = await asyncio.gather(*(_read_page(one, http) for one in endpoints))
    failures = {
        one.label: answer.words for one, answer in zip(endpoints, answers, strict=True) if isinstance(answer, Failure)
    }
    offsets = [offset for offset in answers if isinstance(offset, float)]
    return Reading(f"source {name}", len(endpoints), failures, offsets=offsets)


async def _read_page(settings: RemoteSettings, http: Session) -> float | Failure | None:
    """Return by how much the endpoint's clock is ahead, None where it does not state it; or why it does not answer."""
    address = Endpoint.from_settings(settings, http.time).address
    began, deadline = time.time(), http.time() + _PAGE_SECONDS
    answer = await http.exchange(address.origin, address.get("/"), deadline, _PAGE_BYTES)
    if isinstance(answer, Failure):
        return answer
    between = (began + time.time()) / 2
    date = next((value for name, value in answer.headers.items() if name.lower() == "date"), "")
    try:
        return parsedate_to_datetime(date).timestamp() + _HALF - between
    except (ValueError, TypeError):
        return None


class Clock(NamedTuple):
    """Whether this machine's clock is right, in words, and the fix where it is not."""

    is_right: bool
    words: str
    fix: str


def check_clock(offsets: Sequence[float]) -> Clock | None:
    """Return what the median of the endpoints' clocks says about this machine's; None without any."""
    if not offsets:
        return None
    ahead = statistics.median(offsets)
    by = f"by the Date headers of {len(offsets)} endpoints"
    if abs(ahead) <= MOST_SECONDS_OFF:
        return Clock(True, f"right within {MOST_SECONDS_OFF:g} s {by}", "")
    words = f"{abs(ahead):.0f} s {'behind' if ahead > 0 else 'ahead'} {by}"
    return Clock(False, words, "set it, and keep it right by NTP (`timedatectl set-ntp true`)")
