"""What endpoints are asked beside callers' calls: how they are, whether they hang, whether they have recovered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.errors import UpstreamUnavailable
from server.upstream.failures import Failure, Kind, Trouble, trouble_of
from server.upstream.hangs import HANGS, PROBE_EVERY_SECONDS, HangWatch
from server.upstream.health import Setback
from server.upstream.policy import CallPolicy, ProbeResult, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.upstream.carrier import Cargo, Carrier
    from server.upstream.endpoint import Endpoint
    from server.upstream.health import Health
    from server.upstream.identity import Identity

PROBE_SECONDS = 5.0
"""How long a probe waits for each endpoint."""

_PLAIN = CallPolicy()


class Prober:
    """Probes the endpoints of one chain. `see` takes what an endpoint answered to the light read of `watch`."""

    def __init__(
        self,
        chain: str,
        carriers: Mapping[Endpoint, Carrier[Any]],
        identities: Mapping[Endpoint, Identity],
        health: Health,
        see: Callable[[Endpoint, bytes], None],
        clock: Callable[[], float],
    ) -> None:
        self._chain = chain
        self._carriers = carriers
        self._identities = identities
        self._health = health
        self._see = see
        self._clock = clock
        self._light: Any = None

    def watch(self, light: Any) -> None:
        """Find out which endpoints hang; `light` is the encoded read that an endpoint answers which does not."""
        self._light = light
        for endpoint in self._carriers:
            endpoint.watch = HangWatch(endpoint, self._is_alive, self._note_hang)

    async def probe(self, endpoint: Endpoint, call: Any, timeout: float) -> ProbeResult:
        """Return what the endpoint answers within `timeout` seconds, or why it does not; one excluded is not asked."""
        if endpoint.exclusion is not None:
            trouble = Trouble.FORKED if endpoint.wrong_chain is None else Trouble.WRONG_CHAIN
            return self._unavailable(endpoint, endpoint.exclusion, 0.0, trouble)
        if endpoint.is_hung:
            # It is asked every second anyway.
            timeout = min(timeout, PROBE_EVERY_SECONDS)
        started = self._clock()
        identity = self._identities.get(endpoint)
        failure = None if identity is None else await identity.prove(timeout)
        if failure is not None:
            return self._unavailable(endpoint, failure.words, self._clock() - started, trouble_of(failure))
        answer = await self._carriers[endpoint].submit_alone(call, timeout, "probe")
        got = self._health.settle(endpoint, answer, _PLAIN)
        if isinstance(got, Reply):
            return ProbeResult(endpoint.label, got.latency, result=got.result)
        trouble = trouble_of(answer.outcome if isinstance(answer.outcome, Failure) else None)
        error = got.final or got.explaining
        if error is None:
            return self._unavailable(endpoint, got.words, answer.exchange.seconds, trouble)
        return ProbeResult(endpoint.label, answer.exchange.seconds, error=error, trouble=trouble)

    async def mirror(self, endpoint: Endpoint, call: Cargo[Any]) -> None:
        """Send a copy of a cheap call to a half-open endpoint; what comes back only moves its breaker."""
        try:
            answer = await self._carriers[endpoint].submit_alone(call, PROBE_SECONDS, "probe")
            got = self._health.settle(endpoint, answer, _PLAIN)
            if isinstance(got, Setback) and got.suspect is not None:
                # The call is one that another endpoint answers.
                self._health.convict(endpoint, got.suspect)
        finally:
            endpoint.breaker.release_probe()

    async def _is_alive(self, endpoint: Endpoint, seconds: float) -> bool:
        """Return whether the endpoint answers a light read within the seconds, with whatever it is."""
        answer = await self._carriers[endpoint].submit_alone(self._light, seconds, "probe")
        outcome = answer.outcome
        if isinstance(outcome, Failure) and trouble_of(outcome) is Trouble.HANGS:
            return False
        got = self._health.settle(endpoint, answer, _PLAIN, vouches=False)
        if isinstance(got, Reply):
            self._see(endpoint, got.result)
        return True

    def _note_hang(self, endpoint: Endpoint, is_hung: bool) -> None:
        if is_hung:
            endpoint.breaker.hang()
            self._health.announce(endpoint, "hung")
            self._carriers[endpoint].give_up(Failure(Kind.HUNG, HANGS, PROBE_EVERY_SECONDS))
        else:
            endpoint.breaker.revive()
            self._health.announce(endpoint, "answers")

    def _unavailable(self, endpoint: Endpoint, words: str, seconds: float, trouble: Trouble) -> ProbeResult:
        error = UpstreamUnavailable(f"{endpoint.label} of {self._chain} did not answer: {words}")
        return ProbeResult(endpoint.label, seconds, error=error, trouble=trouble)
