"""One replica of the simulation: a processor that does one thing after the other, its memory, its reads under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

    import simpy

    from bench.scale.simulation import Simulation

    Steps = Generator[simpy.Event, Any, None]

# As server/upstream/batcher.py and server/chains/evm/reads/planner.py have them: how long reads wait for company, and
# how long at most a window stays open while the loop is busy. An idle loop makes its 48 turns in some 30 microseconds.
_HOLD_SHARE, _HOLD_SHORTEST, _HOLD_LONGEST = 10, 0.001, 0.005
_TURNS_SECONDS, _BUSY_SECONDS = 30e-6, 0.008

Question = tuple[str, int]
"""A chain, and which of its popular questions."""


class Processor:
    """Serves in the order of arrival. `busy` is the seconds of work so far, `jobs` how many pieces.

    `share` is the part of the processor that is left to it; a second of work takes the inverse. `wake` is what an idle
    one takes besides.
    """

    def __init__(self, env: simpy.Environment, wake: float, share: float = 1.0) -> None:
        self._env = env
        self._wake = wake
        self._share = share
        self.free_at = env.now
        self.busy = 0.0
        self.jobs = 0

    def work(self, seconds: float, *, wakes: bool = True) -> simpy.Timeout:
        """Return the moment at which this work is done, behind all that came before."""
        if wakes and self.free_at < self._env.now:
            seconds += self._wake
        self.free_at = max(self._env.now, self.free_at) + seconds / self._share
        self.busy += seconds
        self.jobs += 1
        return self._env.timeout(self.free_at - self._env.now)


class Window:
    """Reads of one chain that wait to leave in one upstream request."""

    def __init__(self, replica: Replica, chain: str) -> None:
        self._replica = replica
        self._chain = chain
        self._previous = float("-inf")
        self._leaving: simpy.Event | None = None
        self._reads = 0

    def arrive(self, reads: int) -> simpy.Event:
        """Add reads; the event comes with the node's answer."""
        env, traffic = self._replica.world.env, self._replica.world.traffic
        hold = min(_HOLD_LONGEST, traffic.node_median / _HOLD_SHARE)
        is_close = env.now - self._previous < hold
        self._previous = env.now
        self._reads += reads
        if self._leaving is None:
            self._leaving = env.event()
            env.process(self._leave(hold if hold >= _HOLD_SHORTEST and is_close else 0.0))
        return self._leaving

    def _leave(self, hold: float) -> Steps:
        replica, world = self._replica, self._replica.world
        env, processor = world.env, replica.processor
        if hold:
            yield env.timeout(hold)
        latest = env.now + _BUSY_SECONDS
        yield env.timeout(_TURNS_SECONDS)
        while processor.free_at > env.now and env.now < latest:
            yield env.timeout(min(processor.free_at, latest) - env.now)
        answered, self._leaving = self._leaving, None
        reads, self._reads = self._reads, 0
        requests = -(-reads // world.traffic.largest)
        world.count_upstream(self._chain, requests, reads)
        # Where nothing was held the loop is awake: it has just made its turns.
        yield processor.work(world.costs.upstream * requests, wakes=hold > 0)
        yield env.timeout(world.node_seconds() + world.costs.upstream_hop)
        assert answered is not None
        answered.succeed()


class Replica:
    """Answers requests as a gateway does."""

    def __init__(self, world: Simulation, number: int) -> None:
        self.world = world
        self.number = number
        self.processor = Processor(world.env, world.costs.wake, world.share)
        self._kept: dict[Question, float] = {}
        self._in_flight: dict[Question, simpy.Event] = {}
        self._windows: dict[str, Window] = {}
        self._leases: dict[int, float] = {}
        self._used: set[tuple[int, int, str]] = set()
        self._used_until = world.traffic.usage_interval

    def answer(self, chain: str) -> Steps:
        """Answer one request of the chain's callers, of a kind that the load chooses."""
        world = self.world
        env, traffic, costs, rng = world.env, world.traffic, world.costs, world.rng
        began = env.now
        world.enter()
        yield from self._admit(chain)
        kind = traffic.kind(rng)
        first = costs.kept_grpc if rng.random() < traffic.grpc else costs.kept
        yield self.processor.work(first)
        if kind == "read":
            question = traffic.question(rng)
            yield from self._read(chain, question, max(costs.read - costs.kept, 0.0))
        elif kind == "batch":
            yield from self._read_all(chain, traffic.batch_items)
        yield env.timeout(costs.hop)
        world.leave(began, kind)

    def _admit(self, chain: str) -> Steps:
        """Charge the key: from a lease, or by asking Redis; note what is to be written of its use."""
        world = self.world
        env, traffic, rng = world.env, world.traffic, world.rng
        key, operation = traffic.key(rng), rng.randrange(traffic.operations)
        if env.now >= self._used_until:
            self.write_usage()
            self._used_until += traffic.usage_interval
        self._used.add((key, operation, chain))
        if rng.random() < traffic.exact:
            yield from self._ask_redis()
        elif (until := self._leases.get(key, -1.0)) <= env.now:
            self._leases[key] = env.now + traffic.lease
            if until + traffic.lease < env.now:
                yield from self._ask_redis()
            else:
                # A busy key's units are taken ahead, beside the request.
                env.process(self._ask_redis())

    def write_usage(self) -> None:
        """Write what was used since the last time: one transaction."""
        if self._used:
            self.world.count_writes(len(self._used))
            self._used.clear()

    def _ask_redis(self) -> Steps:
        world = self.world
        wait = world.redis_seconds()
        yield self.processor.work(world.costs.redis_client)
        yield world.env.timeout(wait)

    def _read(self, chain: str, number: int | None, after: float) -> Steps:
        """Find the answer in memory, join a read under way, or ask."""
        world = self.world
        world.reads += 1
        if number is None:
            yield self._window(chain).arrive(1)
            yield self.processor.work(after)
            return
        question = (chain, number)
        if self._kept.get(question, -1.0) > world.env.now:
            world.hits += 1
            return
        under_way = self._in_flight.get(question)
        if under_way is not None:
            world.joined += 1
            yield under_way
            yield self.processor.work(after)
            return
        done = self._in_flight[question] = world.env.event()
        if world.plan == "store":
            yield from self._read_through_store(question)
        else:
            yield self._window(chain).arrive(1)
        del self._in_flight[question]
        self._kept[question] = world.kept_until(chain)
        done.succeed()
        yield self.processor.work(after)

    def _read_through_store(self, question: Question) -> Steps:
        """Ask Redis for the answer; the first who does reads for all, the others wait for what it writes."""
        world, chain = self.world, question[0]
        yield from self._ask_redis()
        state, when = world.look_up(question)
        if state == "first":
            yield self._window(chain).arrive(1)
            world.store(question)
            # The write is not waited for.
            world.env.process(self._ask_redis())
        elif state == "wait":
            yield world.env.timeout(max(0.0, when - world.env.now)) if when >= 0 else world.awaited(question)
            yield from self._ask_redis()

    def _read_all(self, chain: str, count: int) -> Steps:
        """Read the items of a batch: what is not in memory leaves together."""
        world = self.world
        world.reads += count
        missing, waits = 0, []
        asked: list[Question] = []
        for _ in range(count):
            number = world.traffic.question(world.rng)
            question = (chain, number) if number is not None else None
            if question is None:
                missing += 1
            elif self._kept.get(question, -1.0) > world.env.now:
                world.hits += 1
            elif question in self._in_flight:
                world.joined += 1
                waits.append(self._in_flight[question])
            else:
                self._in_flight[question] = world.env.event()
                asked.append(question)
                missing += 1
        yield self.processor.work(count * world.costs.batch_item)
        if asked and world.plan == "store":
            # All of them in one exchange; what another replica is reading is read here too, no item waits for it.
            yield from self._ask_redis()
            missing -= sum(1 for question in asked if world.is_stored(question))
        if missing:
            yield self._window(chain).arrive(missing)
        for question in asked:
            self._kept[question] = world.kept_until(chain)
            self._in_flight.pop(question).succeed()
        yield from waits

    def _window(self, chain: str) -> Window:
        found = self._windows.get(chain)
        if found is None:
            found = self._windows[chain] = Window(self, chain)
        return found
