"""All endpoints of one chain behind one `call`: deadline > next endpoint > breaker, with joining and batching.

The nesting is fixed. A call has a deadline; within it the endpoints are asked one after the other, best first; each
attempt is bounded in time so that a silent endpoint does not use up the deadline, and may be joined by a hedge; its
outcome goes to the endpoint's breaker.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from server.errors import DeadlineExceeded
from server.upstream.absence import MissingBlockRetry
from server.upstream.attempt import VERIFY_SECONDS, Attempts, Hedges, UpstreamRequest
from server.upstream.batcher import Batcher
from server.upstream.connector import PLAIN, CallPolicy, ProbeResult, Reply
from server.upstream.failover import Failover, Selection
from server.upstream.failures import Failure, Kind
from server.upstream.headers import ForkDetector, HeadProofs
from server.upstream.heads import HeadGrowth, HeadTracker
from server.upstream.health import Health
from server.upstream.identity import Identity, IdentityCheck
from server.upstream.jsonrpc import encode_call
from server.upstream.polling import HeadPoller, HeadQuery
from server.upstream.probing import HUNG_SECONDS, PROBE_SECONDS, Prober
from server.upstream.pushes import Pushes
from server.upstream.roster import Replacement, Roster
from server.upstream.single_flight import SharedDeadline, SingleFlight
from server.upstream.transport import Observer, PrometheusObserver, State, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from runtime.settings import RemoteSettings
    from server.upstream.connector import Answer, Connector, Payload
    from server.upstream.endpoint import Endpoint
    from server.upstream.push_socket import PushQuery
    from server.upstream.transport import Session
    from server.upstream.verdicts import ErrorTable

DEFAULT_DEADLINE_SECONDS = 30.0
"""The deadline of a call that comes without one."""

# The age of the block whose hashes are compared: nodes that keep pace have it, and seldom replace it.
_COMPARED_SECONDS = 12.0


class Pool:
    """The endpoints of one chain and kind.

    `errors` is the family's table of node errors, `http` the session shared by all pools, `block_time` in seconds.
    `verify` is asked of every endpoint before its first use; an endpoint that fails is excluded by name and asked again
    every minute of traffic. With `head`, endpoints are asked for their newest block while the chain is in use, unless
    answers hold it anyway (`observe_head`). With `growth`, a head that it does not explain is proved by its header
    before it is believed. With `hedge`, slow cheap calls are asked of a second endpoint. With `watched`, an endpoint
    that hangs is detected, for which `head` or `verify` names a light read, and is sent nothing but one of these a
    second until it answers. Nothing is sent without calls. `state_methods` are those that read the state of a block,
    which endpoints keep or lack as a whole.
    """

    _encode: Callable[[str, Sequence[Any]], Any] = staticmethod(encode_call)
    """Returns a call as the connectors take it: hashable, no tuple."""

    def __init__(
        self,
        chain: str,
        endpoints: Sequence[RemoteSettings],
        errors: ErrorTable,
        http: Session,
        *,
        block_time: float,
        clock: Callable[[], float] = time.monotonic,
        verify: IdentityCheck | None = None,
        head: HeadQuery | None = None,
        observer: Observer | None = None,
        hedge: bool = False,
        state_methods: frozenset[str] = frozenset(),
        watched: bool = True,
        growth: HeadGrowth | None = None,
        push: PushQuery | None = None,
    ) -> None:
        self.chain = chain
        self._clock = clock
        self._observer = observer or PrometheusObserver()
        question = None if verify is None else self._encode(verify.method, verify.params)
        self._roster = roster = Roster(
            partial(self._open_connector, transport=Transport(http)),
            None
            if verify is None
            else lambda endpoint: Identity(endpoint, verify, question, self._ask_identity, self._change),
            http,
            clock,
        )
        self._endpoints, self._by_label = roster.endpoints, roster.by_label
        self._identities, self._connectors = roster.identities, roster.connectors
        self._health = Health(chain, errors, self._observer, clock)
        self.heads = HeadTracker(
            [settings.label for settings in endpoints],
            block_time,
            clock=clock,
            is_healthy=self._is_healthy,
            growth=growth if head is not None and head.header is not None else None,
            has_times=head is not None and head.made_at is not None,
        )
        self._errors = errors
        self._numbers = itertools.count(1)
        header = None if head is None else head.header
        self._proofs = header and HeadProofs(self.heads, header, self._encode, self._connectors, self._health, clock)
        self._distrusts: list[Callable[[], None]] = []
        self._hedges = Hedges(chain, self._observer)
        self._selection = selection = Selection(self._endpoints, self.heads)
        retry = MissingBlockRetry(self.heads, block_time, clock)
        self._attempts = Attempts(chain, self._connectors, self._identities, selection, self._health, retry, clock)
        self._failover = Failover(chain, self._endpoints, self._attempts, selection, retry, clock, state_methods)
        self._head = head
        self._depth = max(2, math.ceil(_COMPARED_SECONDS / block_time))
        self.forks = ForkDetector(chain, self._observer, max(block_time, PROBE_SECONDS), clock)
        self._poller = HeadPoller(self._endpoints, self.heads, block_time, self._poll, self._compare, clock)
        self._prober = Prober(chain, self._connectors, self._identities, self._health, self._see, clock)
        if watched and (light := head or verify) is not None:
            self._prober.light = self._encode(light.method, light.params)
        self.pushes = Pushes(chain, self._endpoints, push, verify, http, block_time, self._observer, clock)
        roster.enter([roster.open(settings) for settings in endpoints], endpoints)
        self._regroup(frozenset(), frozenset(self._by_label), hedge=hedge)
        self._in_flight: SingleFlight[Reply] = SingleFlight()
        self._background: set[asyncio.Task[None]] = set()

    @property
    def labels(self) -> tuple[str, ...]:
        """The endpoints' labels, in the order of the configuration."""
        return tuple(endpoint.label for endpoint in self._endpoints)

    @property
    def is_sound(self) -> bool:
        """Whether some endpoint is of the right chain and not resting after failures."""
        return any(endpoint.is_sound for endpoint in self._endpoints)

    @property
    def median(self) -> float | None:
        """The median latency of the endpoint that answers most calls, in seconds; None before the first call."""
        favourite = self._selection.favourite
        return None if favourite is None else favourite.latency.median

    def call(
        self,
        method: str,
        params: Sequence[object],
        policy: CallPolicy = PLAIN,
        *,
        deadline: float | None = None,
    ) -> Coroutine[Any, Any, Reply]:
        """Return the answer of one endpoint to a JSON-RPC call.

        `deadline` is in seconds of the pool's clock (`time.monotonic`). Raises the family's error when a node answered
        with one that is an answer, DeadlineExceeded, the first explaining error when every endpoint states that it
        cannot, else UpstreamUnavailable with what happened per label.
        """
        return self._ask(method, self._encode(method, params), policy, deadline)

    async def call_together(
        self,
        calls: Sequence[tuple[str, Sequence[object]]],
        policy: CallPolicy = PLAIN,
        *,
        deadline: float | None = None,
    ) -> tuple[Reply, ...]:
        """Return the answers to several JSON-RPC calls (method, params) that travel in one request to one endpoint.

        They are answered by that endpoint as a whole, or asked of the next one as a whole; an endpoint that refuses
        batches gets them one after the other. Raises as `call` does; an error that is an answer (a revert) is raised
        for the whole.
        """
        payload = tuple(self._encode(method, params) for method, params in calls)
        whole = await self._ask("+".join(method for method, _ in calls), payload, policy, deadline)
        return tuple(Reply(part, whole.endpoint, whole.latency, refusals=whole.refusals) for part in whole.parts)

    def _ask(
        self, method: str, call: Payload[Any], policy: CallPolicy, deadline: float | None
    ) -> Coroutine[Any, Any, Reply]:
        until = self._clock() + DEFAULT_DEADLINE_SECONDS if deadline is None else deadline
        if policy.joinable:
            return self._join(method, call, policy, until)
        return self._route(method, call, policy, SharedDeadline(until))

    async def _join(self, method: str, call: Payload[Any], policy: CallPolicy, until: float) -> Reply:
        key = (call, policy)
        if key in self._in_flight:
            self._observer.joined(self.chain)
        try:
            return await self._in_flight.join(
                key, until, lambda deadline: self._route(method, call, policy, deadline), self._clock
            )
        except TimeoutError:
            pass
        states = "; ".join(f"{one.label}: {one.describe()}" for one in self._endpoints) or "none is configured"
        raise DeadlineExceeded(f"{self.chain} did not answer before the deadline: {states}")

    async def probe(self, method: str, params: Sequence[object], *, deadline: float | None = None) -> list[ProbeResult]:
        """Return what each endpoint answers now, in the order of the configuration; an excluded one is not asked.

        Every endpoint gets `PROBE_SECONDS` or the time to `deadline`, whichever is shorter. Nothing is raised for
        endpoints that fail: the error stands in their row.
        """
        call = self._encode(method, params)
        timeout = PROBE_SECONDS if deadline is None else min(max(deadline - self._clock(), 0.0), PROBE_SECONDS)
        return await asyncio.gather(*(self._prober.probe(endpoint, call, timeout) for endpoint in self._endpoints))

    def observe_head(self, endpoint: str, block: int, made_at: float | None = None) -> None:
        """Note the newest block in an answer of the endpoint, and its time where the answer holds that."""
        if self.heads.repeat(endpoint, block, made_at) or endpoint not in self._by_label:
            return
        before = self.heads.head()
        self.heads.observe(endpoint, block, made_at)
        self._observer.reported(self.chain, endpoint, block)
        if self._proofs is not None and self.heads.is_claimed(endpoint):
            self._proofs.start(self._by_label[endpoint])
        head = self.heads.head()
        if head is not None and head != before:
            self._observer.moved(self.chain, head)

    async def prove_head(self, endpoint: str, *, is_last: bool = False) -> None:
        """Return once the endpoint has proved the head that it claims (see `HeadTracker`), or could not.

        That is waited for at the start, and where there is no other endpoint to ask (`is_last`): others may be right.
        """
        is_only = all(other.label == endpoint or not other.is_sound for other in self._endpoints)
        if self._proofs is None or endpoint not in self._by_label:
            return
        if self.heads.is_claimed(endpoint) and (is_last or is_only or self.heads.head() is None):
            await self._proofs.prove(self._by_label[endpoint], PROBE_SECONDS)

    def observe_block(self, endpoint: str, block: int) -> None:
        """Note that the endpoint has this block, whatever its newest is."""
        if block > (self.heads.of(endpoint) or 0):
            self.observe_head(endpoint, block)

    def report_invalid(self, endpoint: str) -> None:
        """Note that a result of the endpoint cannot be the answer to its call."""
        self._observer.failed(self.chain, endpoint, Kind.UNSOUND)

    def observe_chain(self, reply: Reply, wrong: str | None) -> None:
        """Note that an answer names the right chain, or why it is of another one: that excludes its endpoint."""
        endpoint = self._by_label.get(reply.endpoint)
        asked_at = self._clock() - reply.latency
        if endpoint is None or asked_at < endpoint.entered_at or (identity := self._identities.get(endpoint)) is None:
            return
        if wrong is not None:
            identity.refute(wrong)
        elif identity.is_proved and asked_at > identity.proved_at:
            identity.proved_at = asked_at

    def contradict(self, label: str, reason: str) -> None:
        """Note that an endpoint's answer is proved wrong by another one's: it is excluded until they agree."""
        endpoint = self._by_label.get(label)
        if endpoint is not None and endpoint.contradiction is None:
            endpoint.contradiction = reason
            self._change(endpoint, "excluded")

    async def confirm(self, reply: Reply | None = None) -> bool:
        """Return whether the endpoint of a reply serves the right chain, asked after the reply; None: all in use."""
        if reply is not None:
            if (endpoint := self._by_label.get(reply.endpoint)) is None:
                return False  # taken out of the configuration meanwhile
            identity = self._identities.get(endpoint)
            return identity is None or await identity.confirm(self._clock() - reply.latency)
        now = self._clock()
        proved = [identity for identity in self._identities.values() if identity.is_proved]
        return all(await asyncio.gather(*(identity.confirm(now) for identity in proved)))

    def on_distrust(self, forget: Callable[[], None]) -> None:
        """Have `forget` called when an endpoint turns out to have answered for another chain."""
        self._distrusts.append(forget)

    def replace(self, endpoints: Sequence[RemoteSettings], *, hedge: bool) -> Replacement:
        """Return the change to these endpoints, prepared; those asked as before keep what is known of them."""
        return Replacement(self._roster, endpoints, partial(self._regroup, hedge=hedge and self._head is not None))

    def _regroup(self, gone: frozenset[str], new: frozenset[str], *, hedge: bool) -> None:
        """Take note of who the endpoints are now, by the labels that are gone and those of new ones."""
        has_others = len(self._endpoints) > 1
        self._selection.forget_favourite()
        self.heads.follow(self.labels, new)
        self._polled: HeadPoller | None = self._poller if has_others and self._head is not None else None
        self._attempts.hedges = self._hedges if hedge and has_others else None
        self.pushes.follow()
        for label in new:
            self._prober.watch(self._by_label[label])
            self._observer.opened(self.chain, label)
        for label in gone:
            self._observer.changed(self.chain, label, "removed")

    def _change(self, endpoint: Endpoint, state: State) -> None:
        if endpoint not in self._endpoints:
            return
        self._health.announce(endpoint, state)
        if state == "excluded":
            self.heads.forget(endpoint.label)
            for forget in self._distrusts:
                forget()

    def _open_connector(self, endpoint: Endpoint, transport: Transport) -> Connector[Any]:
        """Return the connector of the endpoint."""
        shared = self._errors, self._observer, self._numbers, self._clock
        return Batcher(self.chain, endpoint, transport, *shared, self._identities.get(endpoint))

    async def close(self) -> None:
        """Cancel everything in flight."""
        await asyncio.gather(self._in_flight.close(), self._poller.close(), self.pushes.close())
        if self._proofs is not None:
            await self._proofs.close()
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._hedges.close()
        await self._roster.close()

    def _route(
        self, method: str, call: Payload[Any], policy: CallPolicy, deadline: SharedDeadline
    ) -> Coroutine[Any, Any, Reply]:
        is_alone = policy.heavy or (policy.caller_made and not policy.is_short) or isinstance(call, tuple)
        request = UpstreamRequest(method, call, policy, deadline, is_alone)
        if deadline.until > self._clock():
            poller = self._polled
            if poller is not None:
                poller.touch()
            for endpoint in self._endpoints:
                if endpoint.wrong_chain is not None or not endpoint.breaker.is_closed:
                    self._revive(endpoint, call, policy)
            if policy.min_block is None and poller is not None and not poller.has_looked:
                return self._look_first(poller, request)
        return self._failover.route(request)

    async def _look_first(self, poller: HeadPoller, request: UpstreamRequest) -> Reply:
        await poller.look(request.deadline.until)
        return await self._failover.route(request)

    def _revive(self, endpoint: Endpoint, call: Payload[Any], policy: CallPolicy) -> None:
        """Let a resting or excluded endpoint earn its way back beside this call, which does not wait for it."""
        if endpoint.wrong_chain is not None:
            self._identities[endpoint].recheck()
        elif endpoint.watch is not None and endpoint.watch.is_hung:
            endpoint.watch.want()
        elif (
            not (policy.heavy or policy.caller_made)
            and any(other.is_sound for other in self._endpoints)
            and endpoint.breaker.claim_probe(self._clock())
        ):
            task = asyncio.get_running_loop().create_task(self._prober.mirror(endpoint, call))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    def _see(self, endpoint: Endpoint, result: bytes) -> None:
        """Note what an endpoint answered when it was asked for its head; an unreadable one is none."""
        if self._head is not None:
            with contextlib.suppress(ValueError):
                self.observe_head(endpoint.label, *self._head.parse(result))

    async def _poll(self, endpoint: Endpoint) -> None:
        """Ask one endpoint for its head; a failure counts as any other, an unreadable head is none."""
        if self._head is None:
            return
        identity = self._identities.get(endpoint)
        if (identity is not None and await identity.prove() is not None) or endpoint.is_removed:
            return
        call = self._encode(self._head.method, self._head.params)
        answer = await self._connectors[endpoint].submit_alone(call, PROBE_SECONDS, "head")
        got = self._health.settle(endpoint, answer, PLAIN, vouches=False)
        if isinstance(got, Reply):
            named = None if identity is None or self._head.judge is None else self._head.judge(got.result)
            if named is not None and identity is not None:
                identity.refute(named)
                return
            self._see(endpoint, got.result)
            if self.heads.head() is None:
                await self.prove_head(endpoint.label)

    async def _compare(self) -> None:
        """Compare the endpoints' blocks, a few below the head; an endpoint with an unproved claim has no vote."""
        head = self.heads.head()
        block = -1 if head is None else head - self._depth
        if self._proofs is not None and block >= 0:
            voters = [one for one in self._endpoints if not self.heads.is_claimed(one.label)]
            await self.forks.settle(block, voters, self._proofs.read_past, self._change)

    async def _ask_identity(self, endpoint: Endpoint, call: Any, *, counts: bool) -> Answer:
        seconds = VERIFY_SECONDS if endpoint.watch is None else HUNG_SECONDS
        answer = await self._connectors[endpoint].submit_alone(call, seconds, "verify")
        if counts and isinstance(answer.outcome, Failure):
            self._health.settle_failure(endpoint, answer.outcome, answer.exchange, PLAIN)
        return answer

    def _is_healthy(self, label: str) -> bool:
        endpoint = self._by_label.get(label)
        return endpoint is not None and endpoint.is_sound
