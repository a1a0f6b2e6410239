"""Values that streams watch: each is read once for all of them, whenever it may have changed."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing
from contextvars import Context
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import structlog

from server.errors import GatewayError, Internal, release

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from server.chains.capabilities.following import Link

    Charge: TypeAlias = Callable[[int], Awaitable[None]]

Item = TypeVar("Item")
Value = TypeVar("Value")

_log = structlog.get_logger("waypost.streams")

PACE_SECONDS = 2.0
"""How long after a look at the values of a source the next one is made, at the earliest."""

# What was older than the block that it was read for is read again: after the pace, then twice as late each time.
_MOST_REPEATS = 6
_WOKEN_AT_ONCE = 100


class Moment(NamedTuple):
    """When values may have changed: at which newest block, None where no chain or none that is known.

    `is_stalled` says that no block came for so long that the chain counts as standing still.
    """

    head: Link | None = None
    is_stalled: bool = False


class Reading(NamedTuple, Generic[Item, Value]):
    """What a look brought of each item; with `is_behind` some of it is of an older block than the look was for."""

    outcomes: Mapping[Item, Value | GatewayError]
    is_behind: bool = False


class Seen(Generic[Value]):
    """What the last look at an item brought, and at which moment.

    `payload` is what is sent of it, made once for all streams that send the same.
    """

    __slots__ = ("_payloads", "moment", "outcome", "turn")

    def __init__(self, outcome: Value | GatewayError, moment: Moment, turn: int) -> None:
        self.outcome = outcome
        self.moment = moment
        self.turn = turn
        self._payloads: dict[object, bytes] = {}

    def payload(self, key: object, write: Callable[[], bytes]) -> bytes:
        """Return what `write` made of it for this key, the same object for all who ask."""
        found = self._payloads.get(key)
        if found is None:
            found = self._payloads[key] = write()
        return found


class Watch(Generic[Item, Value]):
    """One stream's part of the values of a source: the items that it watches, each once.

    It takes part in a look after `ask`; when that is done it `is_ready`, and the event `wake` is set.
    """

    def __init__(self, values: WatchedValues[Item, Value], items: tuple[Item, ...], wake: asyncio.Event) -> None:
        self.items = items
        self.wake = wake
        self.turn = 0
        self.missing: set[Item] = set()
        self.is_ready = False
        self._values = values

    def ask(self) -> None:
        """Take part in the next look that is later than the last one taken part in."""
        self.is_ready = False
        self._values.enlist(self)

    def seen(self) -> dict[Item, Seen[Value]]:
        """Return what was seen last of each item."""
        return {item: self._values.seen[item] for item in self.items}

    def close(self) -> None:
        """Watch no longer."""
        self._values.leave(self)


async def read_looks(
    watches: Sequence[Watch[Item, Value]], charge: Charge
) -> AsyncGenerator[tuple[Watch[Item, Value], dict[Item, Seen[Value]]]]:
    """Yield a watch with what it sees after each of its looks; they share one `wake`, and are closed at the end.

    `charge` is awaited with the number of items looked at before these are yielded. A stream that does not go on is no
    part of looks meanwhile: it costs the nodes nothing, and sees the present when it does.
    """
    wake = watches[0].wake
    try:
        for watch in watches:
            watch.ask()
        while True:
            await wake.wait()
            wake.clear()
            for watch in watches:
                if watch.is_ready:
                    await charge(len(watch.items))
                    yield watch, watch.seen()
                    watch.ask()
    finally:
        for watch in watches:
            watch.close()


class WatchedValues(Generic[Item, Value]):
    """The values of one source, read only while streams watch them.

    `moments` yields whenever values may have changed; `read` returns what became of some items at a moment, given what
    was known of them before, and raises nothing. Looks are `pace` seconds apart at least; only what was never seen is
    read at once.
    """

    def __init__(
        self,
        moments: Callable[[], AsyncGenerator[Moment]],
        read: Callable[[Sequence[Item], Moment, Mapping[Item, Value | GatewayError]], Awaitable[Reading[Item, Value]]],
        *,
        pace: float = PACE_SECONDS,
    ) -> None:
        self.seen: dict[Item, Seen[Value]] = {}
        self._moments = moments
        self._read = read
        self._pace = pace
        self._watchers: dict[Item, set[Watch[Item, Value]]] = {}
        self._asking: set[Watch[Item, Value]] = set()
        self._ready: deque[Watch[Item, Value]] = deque()
        self._moment = Moment()
        # How many moments there were; a value is as of one of them.
        self._turn = 0
        self._reading: dict[Item, int] = {}
        self._next_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._repeats = 0
        self._repeat: asyncio.TimerHandle | None = None
        self._following: asyncio.Task[None] | None = None
        self._looks: set[asyncio.Task[None]] = set()

    def watch(self, items: Sequence[Item], wake: asyncio.Event) -> Watch[Item, Value]:
        """Return a watch of these items, each once; to be closed."""
        watch = Watch(self, tuple(dict.fromkeys(items)), wake)
        for item in watch.items:
            self._watchers.setdefault(item, set()).add(watch)
        if self._following is None:
            # What is read for all streams is no part of the call that began it.
            self._following = asyncio.get_running_loop().create_task(self._follow(), context=Context())
        return watch

    def enlist(self, watch: Watch[Item, Value]) -> None:
        """See `Watch.ask`."""
        self._asking.add(watch)
        if self._turn > watch.turn:
            self._begin(watch)

    def leave(self, watch: Watch[Item, Value]) -> None:
        """See `Watch.close`."""
        self._asking.discard(watch)
        for item in watch.items:
            watchers = self._watchers.get(item, set())
            watchers.discard(watch)
            if not watchers:
                self._watchers.pop(item, None)
                self.seen.pop(item, None)
        if not self._watchers:
            self._stop()

    async def close(self) -> None:
        """Read nothing any more."""
        tasks = [*self._looks, *([] if self._following is None else [self._following])]
        self._stop()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _stop(self) -> None:
        for timer in (self._timer, self._repeat):
            if timer is not None:
                timer.cancel()
        self._timer = self._repeat = None
        for task in (*self._looks, self._following):
            if task is not None:
                task.cancel()
        self._following = None
        self._turn = self._repeats = 0
        self._reading.clear()

    async def _follow(self) -> None:
        while True:
            try:
                async with aclosing(self._moments()) as moments:
                    async for moment in moments:
                        self._repeats = 0
                        self._arrive(moment)
            except Exception:
                # A defect; the streams would be silent for good.
                _log.exception("watched values are not followed")
            await asyncio.sleep(PACE_SECONDS)

    def _arrive(self, moment: Moment) -> None:
        self._moment = moment
        self._turn += 1
        for watch in [watch for watch in self._asking if not watch.missing]:
            self._begin(watch)

    def _begin(self, watch: Watch[Item, Value]) -> None:
        """Have a watch take part in the look of this moment: what another one has seen of it is there already."""
        turn = watch.turn = self._turn
        watch.missing = {item for item in watch.items if (seen := self.seen.get(item)) is None or seen.turn < turn}
        if watch.missing:
            self._plan(is_at_once=any(item not in self.seen for item in watch.missing))
        else:
            self._finish(watch)

    def _finish(self, watch: Watch[Item, Value]) -> None:
        self._asking.discard(watch)
        watch.is_ready = True
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._wake_some)
        self._ready.append(watch)

    def _wake_some(self) -> None:
        """Wake the streams that are ready, a part of them in each turn of the loop: others have their turns between."""
        for _ in range(min(_WOKEN_AT_ONCE, len(self._ready))):
            self._ready.popleft().wake.set()
        if self._ready:
            asyncio.get_running_loop().call_soon(self._wake_some)

    def _plan(self, *, is_at_once: bool) -> None:
        """Look when the pace allows it, or at once, together with all who ask in this turn of the loop."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        at = now if is_at_once else max(now, self._next_at)
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._leave, context=Context())

    def _leave(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        wanted = self._wanted()
        is_early = loop.time() < self._next_at
        items = [item for item in wanted if item not in self.seen] if is_early else wanted
        if not is_early:
            self._next_at = loop.time() + self._pace
        if items:
            self._reading.update(dict.fromkeys(items, self._turn))
            task = loop.create_task(self._look(items, self._moment, self._turn))
            self._looks.add(task)
            task.add_done_callback(self._looks.discard)
        if len(items) < len(wanted):
            self._plan(is_at_once=False)

    def _wanted(self) -> list[Item]:
        """Return what is to be read: what those who ask miss, but for what is being read for them."""
        reading = self._reading
        missing = {item: None for watch in self._asking for item in watch.missing if reading.get(item, 0) < watch.turn}
        return list(missing)

    async def _look(self, items: Sequence[Item], moment: Moment, turn: int) -> None:
        known = {item: seen.outcome for item in items if (seen := self.seen.get(item)) is not None}
        try:
            reading = await self._read(items, moment, known)
        except Exception:
            _log.exception("watched values could not be read")
            failure = Internal("the gateway failed at reading this value; its log has more")
            reading = Reading(dict.fromkeys(items, failure))
        for item in items:
            if self._reading.get(item) == turn:
                del self._reading[item]
        for item in items:
            self._publish(item, Seen(reading.outcomes[item], moment, turn))
        if reading.is_behind:
            self._look_again()
        if self._wanted():
            self._plan(is_at_once=False)

    def _publish(self, item: Item, seen: Seen[Value]) -> None:
        watchers = self._watchers.get(item)
        before = self.seen.get(item)
        if not watchers or (before is not None and before.turn > seen.turn):
            return
        self.seen[item] = seen
        for watch in watchers:
            if item in watch.missing and watch.turn <= seen.turn:
                watch.missing.discard(item)
                if not watch.missing:
                    self._finish(watch)

    def _look_again(self) -> None:
        if self._repeats < _MOST_REPEATS and self._repeat is None and self._watchers:
            delay = max(self._pace, 0.1) * 2**self._repeats
            self._repeats += 1
            self._repeat = asyncio.get_running_loop().call_later(delay, self._repeat_look, context=Context())

    def _repeat_look(self) -> None:
        self._repeat = None
        self._arrive(self._moment)


async def gather_outcomes(
    reads: Mapping[Item, Awaitable[Value]],
) -> dict[Item, Value | GatewayError]:
    """Return what each read brought, or its failure; all run at once. Other errors than GatewayError are raised."""
    outcomes = await asyncio.gather(*reads.values(), return_exceptions=True)
    found: dict[Any, Any] = {}
    for item, outcome in zip(reads, outcomes, strict=True):
        if isinstance(outcome, GatewayError):
            release(outcome)
        elif isinstance(outcome, BaseException):
            raise outcome
        found[item] = outcome
    return found
