"""How a chain's driver is opened, written once: a family supplies its pools as data, and its readers by capability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from server.chains import capabilities
from server.chains.shared.cache import ChainCache
from server.chains.shared.validated_reads import read_validated
from server.upstream import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runtime.settings import EndpointSettings
    from server.chains.facts import ChainFacts
    from server.chains.shared.finality import AskFinalized
    from server.upstream import HeadQuery, IdentityCheck
    from server.upstream.cache import Cache
    from server.upstream.push_socket import PushQuery
    from server.upstream.transport import Observer, Session
    from server.upstream.verdicts import ErrorTable


class FinalizedQuery(NamedTuple):
    """The call by which a node names the newest block that cannot change any more.

    `read` returns the block's number; it raises ValueError, msgspec's error or NotFound where the answer names none.
    """

    method: str
    params: list[Any]
    read: Callable[[bytes], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """How the endpoints of one kind are asked; `head` and `verify` are those of `Pool`.

    `push` is how its nodes announce blocks. A kind without a head query is not watched and not hedged. With `is_cached`
    what its readers read is cached under the blocks of its heads, for good once the block is final; without a
    `finalized` query no block is.
    """

    kind: str
    errors: ErrorTable
    verify: IdentityCheck
    head: HeadQuery | None = None
    state_methods: frozenset[str] = frozenset()
    opens: type[Pool] = Pool
    is_cached: bool = True
    finalized: FinalizedQuery | None = None
    push: PushQuery | None = None


class ChainParts(NamedTuple):
    """What the readers of one chain are built on: its pools, and the caches in front of them, by kind of endpoint.

    `ask_final` asks a pool for its newest final block; None where its nodes name none.
    `judges_age` is False where blocks are made only on request (local nodes): the age of a head means nothing.
    """

    facts: ChainFacts
    pools: Mapping[str, Any]
    caches: Mapping[str, ChainCache]
    judges_age: bool
    ask_final: Mapping[str, AskFinalized | None]


class Closes(Protocol):
    """Has reads of its own in flight."""

    async def close(self) -> None:
        """Give them up."""
        ...


class Driver:
    """What reads one chain: each capability that a reader extends, with the reader.

    `closing` are the readers among them that have something in flight.
    """

    def __init__(self, parts: ChainParts, readers: Sequence[object], closing: Sequence[Closes] = ()) -> None:
        self.capabilities: Mapping[Any, object] = {
            capability: reader for reader in readers for capability in capabilities_of(type(reader))
        }
        self.pools = parts.pools
        self.caches = parts.caches
        self._closing = closing

    async def close(self) -> None:
        """Give up everything in flight."""
        for part in (*self.caches.values(), *self._closing, *self.pools.values()):
            await part.close()


def capabilities_of(reader: type) -> Iterator[type]:
    """Yield the capabilities that a reader's class extends, protocols out of `server.chains.capabilities`."""
    for base in reader.__mro__[1:]:
        if base.__module__.startswith(f"{capabilities.__name__}."):
            yield base


class ChainFactory(ABC):
    """Opens the driver of one chain of a family."""

    def __init__(self, facts: ChainFacts) -> None:
        self.facts = facts

    @abstractmethod
    def plans(self) -> Sequence[PoolPlan]:
        """Return how endpoints of each kind that the family reads are asked."""

    @abstractmethod
    def driver(self, parts: ChainParts) -> Driver:
        """Return the driver on these pools."""

    def open(
        self,
        endpoints: Sequence[EndpointSettings],
        http: Session,
        observer: Observer | None,
        cache: Cache | None,
        *,
        is_local: bool,
        hedge: bool = False,
    ) -> Driver:
        """Return a driver on the endpoints; each proves its chain before it is used.

        With `is_local` the age of a head means nothing, and a jump to a far higher one is accepted without a proof,
        because local nodes make blocks only on request. With `hedge` slow reads are asked of a second endpoint
        as well.
        """
        facts, plans = self.facts, self.plans()
        pools = {
            plan.kind: plan.opens(
                facts.slug,
                [endpoint for endpoint in endpoints if endpoint.kind == plan.kind],
                plan.errors,
                http,
                block_time=facts.block_time,
                verify=plan.verify,
                head=plan.head,
                observer=observer,
                hedge=hedge and plan.head is not None,
                state_methods=plan.state_methods,
                watched=plan.head is not None,
                growth=None if is_local else facts.growth,
                push=plan.push,
            )
            for plan in plans
        }
        ask_final = {
            plan.kind: plan.finalized and partial(ask_finalized, pools[plan.kind], plan.finalized) for plan in plans
        }
        caches = {
            plan.kind: ChainCache(
                facts.slug,
                cache,
                pools[plan.kind].heads,
                block_time=facts.block_time,
                ask_finalized=ask_final[plan.kind],
            )
            for plan in plans
            if plan.is_cached
        }
        for pool in pools.values():
            for kept in caches.values():
                pool.on_distrust(kept.forget)
        return self.driver(ChainParts(facts, pools, caches, judges_age=not is_local, ask_final=ask_final))


async def ask_finalized(pool: Pool, query: FinalizedQuery) -> int:
    """Return the number of the newest final block; GatewayError where no node reports one."""
    number, _ = await read_validated(pool, query.method, query.params, query.read, deadline=None)
    return number
