"""One configured endpoint of a chain: its settings and its state."""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runtime.settings import EndpointSettings
from server.upstream.breaker import Breaker
from server.upstream.http import Address
from server.upstream.node_words import secrets_of
from server.upstream.probing import HANGS
from server.upstream.push_socket import PushAddress
from server.upstream.transport import proxy_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from runtime.settings import RemoteSettings
    from server.upstream.http import Proxy
    from server.upstream.probing import HangWatch

_BATCH_ITEMS = 100
_RELEARN_SECONDS = 600.0
_DEFAULT_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_STUCK_SECONDS = 0.1
_STUCK_FACTOR = 8

_numbers = itertools.count(1)

_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "gzip"}


class Endpoint:
    """State of one endpoint. The URL and the headers stay out of every text this class produces."""

    def __init__(
        self,
        label: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        weight: float = 1.0,
        rate: float | None = None,
        proxy: Proxy | None = None,
        tls: ssl.SSLContext | None = None,
        is_traced: bool = False,
        push_url: str | None = None,
        clock: Callable[[], float],
    ) -> None:
        self.label = label
        self.number = next(_numbers)
        """Which one it is, in this process: a label gets another endpoint when settings change."""
        self.is_traced = is_traced
        self.weight = weight
        self.clock = clock
        self.breaker = Breaker()
        self.latency = LatencyWindow()
        self.learned = LearnedLimits(clock)
        self.wrong_chain: str | None = None
        self.contradiction: str | None = None
        self.refuted_at = -math.inf
        self.in_flight = 0
        self.watch: HangWatch | None = None
        self.entered_at = -math.inf
        """Since when it has its place in the pool, where that was not from the beginning."""
        self.is_removed = False
        """Whether it was taken out of the configuration: it still answers what it was asked, and is asked nothing."""
        self._pending: dict[object, float] = {}
        self._heavy: dict[object, float] = {}
        self.last_byte_at = -math.inf
        self.address = Address(url, _HEADERS | dict(headers or {}), proxy=proxy, tls=tls)
        self.push = None if push_url is None else PushAddress(push_url, headers or {}, self.address)
        """Where it announces new blocks, None where that is not configured."""
        self.secrets = secrets_of((url, push_url or ""), headers or {})
        self._rate = _Bucket(rate, clock()) if rate else None
        self._paused_until = 0.0
        self._batch_items = _BATCH_ITEMS
        self._relearn_at = 0.0

    @classmethod
    def from_settings(cls, settings: RemoteSettings, clock: Callable[[], float]) -> Endpoint:
        """Return the endpoint that the settings describe."""
        headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        push_url = settings.ws_url if isinstance(settings, EndpointSettings) else None
        return cls(
            settings.label,
            settings.url.get_secret_value(),
            headers=headers,
            weight=settings.weight,
            rate=settings.rate,
            proxy=proxy_of(settings),
            tls=settings.tls,
            is_traced=settings.trace,
            push_url=None if push_url is None else push_url.get_secret_value(),
            clock=clock,
        )

    def __repr__(self) -> str:
        return f"Endpoint({self.label!r})"

    @property
    def exclusion(self) -> str | None:
        """Why the endpoint is not asked for anything: it serves another chain, or other blocks than most others do."""
        return self.wrong_chain or self.contradiction

    @property
    def is_sound(self) -> bool:
        """Whether the endpoint is of the right chain and fork, and its breaker is closed."""
        return self.wrong_chain is None and self.contradiction is None and self.breaker.is_closed

    @property
    def is_doubtful(self) -> bool:
        """Whether the endpoint failed a moment ago, or seems to be failing now."""
        return self.breaker.is_doubted(self.clock()) or self.is_stuck

    @property
    def is_stuck(self) -> bool:
        """Whether a cheap request has been out for much longer than usual: a first sign, before any time-out."""
        if not self._pending or self.latency.p95 is None:
            return False
        oldest = next(iter(self._pending.values()))
        return self.clock() - oldest > max(_STUCK_SECONDS, self.latency.p95 * _STUCK_FACTOR)

    @property
    def is_hung(self) -> bool:
        """Whether the endpoint takes requests and gives no byte back."""
        return self.watch is not None and self.watch.is_hung

    @property
    def is_asked(self) -> bool:
        """Whether a request is out."""
        return bool(self._pending or self._heavy)

    @property
    def is_used(self) -> bool:
        """Whether a call waits for an answer of it, its request being out or about to leave."""
        return self.in_flight > 0 or self.is_asked

    @property
    def rate_limit(self) -> float | None:
        """The most requests per second that it is sent, None for no limit."""
        return None if self._rate is None else self._rate.rate

    def set_terms(self, weight: float, rate: float | None) -> None:
        """Prefer it by another weight, and send it so many requests per second at most (None: no limit)."""
        self.weight = weight
        if rate != self.rate_limit:
            self._rate = _Bucket(rate, self.clock()) if rate else None

    @property
    def silent_since(self) -> float:
        """Since when a request is out and no byte came back, to it or any other; infinite where none is out."""
        sent = min((next(iter(out.values())) for out in (self._pending, self._heavy) if out), default=math.inf)
        return max(sent, self.last_byte_at)

    @property
    def light_silent_since(self) -> float:
        """The same of cheap requests."""
        return max(next(iter(self._pending.values()), math.inf), self.last_byte_at)

    def describe(self) -> str:
        """Return the endpoint's state in a few words."""
        if self.exclusion is not None:
            return self.exclusion
        if self.is_hung:
            return HANGS
        if self.is_asked:
            return f"no byte for {max(self.clock() - self.silent_since, 0.0):.1f} s"
        return "ready" if self.is_sound else "resting after failures"

    def exclude(self, reason: str) -> None:
        """Take the endpoint out of use because it serves another chain; its answers until now are void."""
        self.wrong_chain = reason
        self.refuted_at = self.clock()

    def begin(self, exchange: object, *, is_heavy: bool = False) -> None:
        """Note that a request leaves, which counts against the configured rate."""
        if self._rate is not None:
            self._rate.spend(self.clock())
        (self._heavy if is_heavy else self._pending)[exchange] = self.clock()
        if self.watch is not None and not self.watch.is_watching:
            self.watch.start()

    def end(self, exchange: object) -> None:
        """Note that a request ended, whatever its outcome."""
        if self._pending.pop(exchange, None) is None:
            self._heavy.pop(exchange, None)

    def note_byte(self) -> None:
        """Note that a byte came."""
        self.last_byte_at = self.clock()

    @property
    def paused_for(self) -> float:
        """Seconds for which the endpoint asked to be left alone, or its configured rate is used up; 0 if neither."""
        now = self.clock()
        wait = max(self._paused_until - now, 0.0)
        return wait if self._rate is None else max(wait, self._rate.wait(now))

    def pause(self, seconds: float | None) -> None:
        """Leave the endpoint alone for as long as it asked (at most a minute), a second if it gave no time."""
        duration = _DEFAULT_PAUSE if seconds is None else min(seconds, _LONGEST_PAUSE)
        self._paused_until = max(self._paused_until, self.clock() + duration)

    @property
    def batch_items(self) -> int:
        """How many calls one batch may hold; 1 for an endpoint that refuses batches. Tried anew every ten minutes."""
        if self._batch_items < _BATCH_ITEMS and self.clock() >= self._relearn_at:
            self._batch_items = _BATCH_ITEMS
        return self._batch_items

    def learn_batch_items(self, items: int) -> None:
        """Keep for ten minutes that batches of more than `items` are refused."""
        self._batch_items = max(1, min(items, self._batch_items))
        self._relearn_at = self.clock() + _RELEARN_SECONDS


class _Bucket:
    """Tokens refilled at a steady rate, with one second's worth of burst."""

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._burst = max(rate, 1.0)
        self._tokens = self._burst
        self._at = now

    def wait(self, now: float) -> float:
        self._refill(now)
        return 0.0 if self._tokens >= 1.0 else (1.0 - self._tokens) / self.rate

    def spend(self, now: float) -> None:
        self._refill(now)
        self._tokens -= 1.0

    def _refill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self.rate)
        self._at = now


_SAMPLES = 64
_RECOMPUTE_EVERY = 8


class LatencyWindow:
    """Median and 95th percentile of the last 64 measured exchanges, in seconds; None before the first."""

    def __init__(self) -> None:
        self._samples: deque[float] = deque(maxlen=_SAMPLES)
        self._since = 0
        self.median: float | None = None
        self.p95: float | None = None

    @property
    def count(self) -> int:
        """How many measurements the figures rest on."""
        return len(self._samples)

    def add(self, seconds: float) -> None:
        """Take one measurement; the figures are refreshed at every one at first, later at every eighth."""
        self._samples.append(seconds)
        self._since += 1
        if self._since >= _RECOMPUTE_EVERY or len(self._samples) <= _RECOMPUTE_EVERY:
            self._since = 0
            ordered = sorted(self._samples)
            self.median = ordered[len(ordered) // 2]
            self.p95 = ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)]


LEARNED_SECONDS = 600.0
"""How long a refusal counts."""

Lack = Literal["method", "block"]
"""What a refusal reports missing: the method as a whole, or the data of the block that was asked for."""


@dataclass(slots=True)
class _Method:
    missing_until: float = 0.0
    refused: int = -1
    refused_until: float = 0.0
    served: int | None = None


class LearnedLimits:
    """What an endpoint can do by its own answers, per method, for ten minutes: never a ban.

    Nodes differ by method: state may be pruned where logs are complete, traces may be switched off. What an endpoint
    lacks only moves it behind the others for such calls.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._methods: dict[str, _Method] = {}

    def serve(self, method: str, block: int | None, *, is_old: bool = True) -> None:
        """Note that the endpoint answered a call, about this block where it is known.

        Only an old block shows how far back the endpoint reads.
        """
        known = self._methods.get(method)
        if block is None:
            if known is not None:
                known.missing_until = 0.0
            return
        if known is None:
            known = self._methods[method] = _Method()
        known.missing_until = 0.0
        if is_old and (known.served is None or block < known.served):
            known.served = block
        if block <= known.refused:
            # A refusal that another machine behind the same address does not share.
            known.refused = block - 1

    def refuse(self, method: str, lack: Lack, block: int | None) -> None:
        """Note that the endpoint reported to lack the method, or what this block and older ones need."""
        if lack == "block" and block is None:
            return
        known = self._methods.setdefault(method, _Method())
        until = self._clock() + LEARNED_SECONDS
        if lack == "method":
            known.missing_until = until
        elif block is not None:
            known.refused = block if until - LEARNED_SECONDS >= known.refused_until else max(known.refused, block)
            known.refused_until = until
            if known.served is not None and known.served <= block:
                known.served = None

    def lacks(self, method: str, block: int | None) -> bool:
        """Return whether the endpoint is known to be unable to answer such a call."""
        known = self._methods.get(method)
        if known is None:
            return False
        if known.missing_until > self._clock():
            return True
        return block is not None and block <= known.refused and known.refused_until > self._clock()

    def oldest(self, method: str) -> int | None:
        """Return the oldest of the old blocks that the endpoint answered such calls about and has not refused since."""
        known = self._methods.get(method)
        return None if known is None else known.served
