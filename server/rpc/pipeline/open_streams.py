"""The open streams of this process: how many there may be, what each is charged, and who may still have one.

A stream outlives what it was admitted by. One task looks every second or two at the keys of all that are open, and ends
those whose key is revoked, has expired, or lost the operation or a chain (docs/decisions/0067).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager, suppress
from contextvars import Context
from time import monotonic
from typing import TYPE_CHECKING

from runtime.logs import get_logger
from runtime.metrics import add_open_streams
from server.access.admission import DEMO, over_quota
from server.access.quotas import Grant
from server.errors import GatewayError, RateLimited, SlowConsumer, UpstreamUnavailable
from server.rpc.pipeline.admission import key_of, quota_metadata
from server.rpc.pipeline.permissions import check_chain, check_operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runtime.settings.streams import StreamSettings
    from server.access.admission import Admission, Principal
    from server.access.quotas import ChargesQuotas
    from server.access.usage import Usage
    from server.rpc.pipeline.call import Method, RequestState

LOOK_SECONDS = 1.5
"""How often the keys of open streams are looked at."""
LONGEST_PAUSE_SECONDS = 5.0
"""How long a stream waits for quota before it ends."""
STUCK_SECONDS = 30.0
"""How long a reader may leave an event unread."""
SENDING_SECONDS = 0.25
"""How long a stream that is ended may go on sending the event that is on its way."""

# The part of the process's streams that all clients of the demo may have: they bring no key.
_DEMO_PART = 10
_LEAST_PAUSE_SECONDS = 0.01
# Streams looked at in one turn of the event loop.
_AT_ONCE = 1000

_log = get_logger("waypost.rpc")


class OpenStream:
    """One open stream of an admitted caller, served by the task that makes it.

    `cursor` is where it goes on after what was sent; `sending` since when an event waits for its reader (`monotonic`),
    0 where none does; `counted_units` are the units that usage has; `ending` why it was ended from outside.
    """

    __slots__ = (
        "_chains",
        "_quotas",
        "_state",
        "_task",
        "_usage",
        "counted_units",
        "cursor",
        "ending",
        "method",
        "sending",
        "until",
    )

    def __init__(
        self,
        method: Method,
        state: RequestState,
        chains: Sequence[tuple[str, str]],
        quotas: ChargesQuotas,
        usage: Usage | None,
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.method = method
        self.cursor = ""
        self.sending = 0.0
        self.until: float | None = None
        self.counted_units = 0
        self.ending: GatewayError | None = None
        self._task = task
        self._state = state
        self._chains = chains
        self._quotas = quotas
        self._usage = usage
        self._count_units()

    @property
    def state(self) -> RequestState:
        """The call that the stream answers."""
        return self._state

    async def charge(self, units: int) -> None:
        """Charge units to the caller; wait for quota, five seconds in all. Raises RateLimited where there is none."""
        state, principal = self._state, self._state.principal
        if principal is None or principal.policy.unlimited:
            state.units += units
            self._count_units()
            return
        until = monotonic() + LONGEST_PAUSE_SECONDS
        while True:
            charged = self._quotas.charge(principal, units)
            grant = charged if isinstance(charged, Grant) else await charged
            units -= grant.admitted
            state.units += grant.admitted
            state.quota = quota_metadata(principal, grant)
            self._count_units()
            if units <= 0:
                return
            pause = max(_LEAST_PAUSE_SECONDS, grant.retry_after_ms / 1000)
            if monotonic() + pause > until:
                raise over_quota(principal, grant)
            await asyncio.sleep(pause)

    def _count_units(self) -> None:
        """Count as usage what was charged since: a stream may be open for days."""
        state, usage = self._state, self._usage
        if usage is not None and state.principal is not None and state.units > self.counted_units:
            tally = usage.of(state.principal.label, self.method.name, state.chain)
            tally.units += state.units - self.counted_units
            self.counted_units = state.units

    def end(self, failure: GatewayError) -> None:
        """End the stream with the failure, wherever it waits; the first one counts.

        An event that is being sent has SENDING_SECONDS to arrive, so that the cursor of the failure is that of the last
        event. The headers of the first one have to: gRPC can give no status to a call that was cancelled while they
        were sent, and its caller would wait for ever.
        """
        if self.ending is None:
            self.ending = failure
            if self.sending:
                asyncio.get_running_loop().call_later(SENDING_SECONDS, self._stop_sending)
            else:
                self._task.cancel()

    def _stop_sending(self) -> None:
        if self.sending:
            self._task.cancel()

    def is_ended(self) -> bool:
        """Return whether `end` alone is why the task was cancelled; the task then counts as not cancelled."""
        return self.ending is not None and self._task.uncancel() == 0

    def adopt(self, principal: Principal) -> None:
        """Go on as what the caller is by now. Raises KeyNotAllowed where that may not have this stream."""
        rights = principal.rights
        if rights is not None:
            check_operation(self.method, rights)
            for path, slug in self._chains:
                check_chain(rights, slug, path)
        self._state.principal = principal


class OpenStreams:
    """Opens streams within the limits of settings, and ends them. `usage` is where their units are counted."""

    def __init__(self, limits: StreamSettings, admission: Admission, usage: Usage | None = None) -> None:
        self._limits = limits
        self._admission = admission
        self._usage = usage
        self._open: dict[OpenStream, None] = {}
        self._by_principal: Counter[str] = Counter()
        self._of_demo = 0
        self._looking: asyncio.Task[None] | None = None
        self._is_over = False

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def open(self, method: Method, state: RequestState, chains: Sequence[tuple[str, str]]) -> Iterator[OpenStream]:
        """Open a stream of the caller, which names the `chains` as (parameter, slug); it is served by this task.

        Raises RateLimited where the caller has as many as it may, UpstreamUnavailable where the process has, and when
        it stops.
        """
        principal = state.principal
        account, is_demo = ("", False) if principal is None else (principal.id, principal.label == DEMO)
        if principal is not None:
            self._refuse_beyond_limits(principal)
        stream = OpenStream(method, state, chains, self._admission.quotas, self._usage)
        if is_demo:
            stream.until = monotonic() + self._limits.demo_lifetime
        self._open[stream] = None
        self._by_principal[account] += 1
        self._of_demo += is_demo
        add_open_streams(method.name, 1)
        if self._looking is None:
            # In no call's context: what it reads is for no caller.
            self._looking = asyncio.get_running_loop().create_task(self._look_on(), context=Context())
        try:
            yield stream
        finally:
            del self._open[stream]
            self._by_principal[account] -= 1
            if not self._by_principal[account]:
                del self._by_principal[account]
            self._of_demo -= is_demo
            add_open_streams(method.name, -1)

    def _refuse_beyond_limits(self, principal: Principal) -> None:
        limits = self._limits
        if self._is_over:
            raise _stopping()
        if principal.label == DEMO:
            most = limits.max_streams_per_demo_client
            if self._by_principal[principal.id] >= most:
                raise RateLimited(
                    f"the demo has {most} open stream{'s' * (most > 1)} for an address; end that first, or ask for a"
                    " key",
                    retry_after_ms=1000,
                )
            if self._of_demo >= max(1, limits.max_streams // _DEMO_PART):
                raise RateLimited(
                    "the demo already has as many streams open as it may; try again shortly", retry_after_ms=1000
                )
        elif not principal.policy.unlimited and self._by_principal[principal.id] >= limits.max_streams_per_key:
            most = limits.max_streams_per_key
            raise RateLimited(f"this key already has {most} streams open; end one first", retry_after_ms=1000)
        if len(self._open) >= limits.max_streams:
            raise UpstreamUnavailable(
                f"the gateway already has {len(self._open)} streams open; try again shortly", retry_after_ms=1000
            )

    def limit(self, limits: StreamSettings) -> None:
        """Open streams within these limits from now on; what is open stays."""
        self._limits = limits

    def end(self) -> None:
        """End all streams as the gateway stops, and open no more."""
        self._is_over = True
        for stream in tuple(self._open):
            stream.end(_stopping())

    async def close(self) -> None:
        """End what is open and what looks at it."""
        self.end()
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking

    async def _look_on(self) -> None:
        while self._open:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except Exception:
                # The next look may succeed; without any, keys that are revoked would go on.
                _log.exception("the keys of open streams could not be looked at")
        self._looking = None

    async def _look(self) -> None:
        await self._admission.refresh()
        now = monotonic()
        found: dict[tuple[str, str], Principal | GatewayError] = {}
        for count, stream in enumerate(tuple(self._open)):
            if count % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
            if stream.until is not None and now >= stream.until:
                stream.end(_demo_over(self._limits.demo_lifetime))
            elif stream.sending and now - stream.sending >= STUCK_SECONDS:
                stream.end(
                    SlowConsumer(f"nothing was read for {STUCK_SECONDS:g} s; read faster, or go on at the cursor")
                )
            else:
                self._check_caller(stream, found)

    def _check_caller(self, stream: OpenStream, found: dict[tuple[str, str], Principal | GatewayError]) -> None:
        before = stream.state.principal
        if before is None:
            return
        caller = before.id, key_of(stream.state)
        present = found.get(caller)
        if present is None:
            try:
                present = self._admission.still(before, caller[1])
            except GatewayError as refusal:
                present = refusal
            found[caller] = present
        if present is before:
            return
        try:
            if isinstance(present, GatewayError):
                raise present
            stream.adopt(present)
        except GatewayError as refusal:
            stream.end(refusal)


def _stopping() -> UpstreamUnavailable:
    message = "this gateway is stopping; go on at the cursor, another one will answer"
    return UpstreamUnavailable(message, retry_after_ms=500)


def _demo_over(seconds: float) -> RateLimited:
    message = f"a stream of the demo ends after {seconds:g} s; go on at the cursor, or ask for a key"
    return RateLimited(message, retry_after_ms=1000)
