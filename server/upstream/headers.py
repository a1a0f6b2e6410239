"""What block headers prove: a head that is not expected, and whether the endpoints follow the same fork.

An endpoint that is far ahead of all that was believed may be the only one that is right, after a stall for example, or
report what does not exist. Its block is asked for, and the block before it: they have to be there, to be linked, and to
be of times that fit the chain's pace since the newest block whose time is known, and this machine's clock.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import structlog

from server.upstream.connector import CallPolicy, Reply
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from server.upstream.connector import Connector
    from server.upstream.endpoint import Endpoint
    from server.upstream.heads import HeadTracker
    from server.upstream.health import Health
    from server.upstream.transport import Observer, State


Ask: TypeAlias = "Callable[[str, Sequence[object]], Awaitable[bytes]]"
"""Returns the result of a call (method, params) as one endpoint answers it; ValueError where it answers none."""

READ_SECONDS = 5.0
"""How long a header is waited for."""

RETRY_SECONDS = 2.0
"""A proof that failed is tried again after this, while the endpoint is asked."""


_HEAVY = CallPolicy(heavy=True)


@dataclass(frozen=True, slots=True)
class Header:
    """A block's header: number (slot on Solana), hash, time in unix seconds, and the parent's hash.

    `parent_hash` is empty for the first block of a chain. `is_whole`: whether its hash comes out of its contents;
    None where that is unknown.
    """

    number: int
    hash: str
    made_at: float
    parent: int
    parent_hash: str
    is_whole: bool | None = None


class HeadProofs:
    """The proofs of one chain's endpoints. `read` is the family's way to read a header (see `HeadQuery.header`)."""

    def __init__(
        self,
        heads: HeadTracker,
        read: Callable[[Ask, int], Awaitable[Header]],
        encode: Callable[[str, Sequence[object]], Any],
        connectors: Mapping[Endpoint, Connector[Any]],
        health: Health,
        clock: Callable[[], float],
    ) -> None:
        self._heads = heads
        self._read_header = read
        self._encode = encode
        self._connectors = connectors
        self._health = health
        self._clock = clock
        self._running: SingleFlight[bool] = SingleFlight()
        self._tried_at: dict[str, float] = {}
        self._is_layout_known = False
        self._odd: set[str] = set()

    async def prove(self, endpoint: Endpoint, seconds: float | None = None) -> bool:
        """Return whether the endpoint proves the head that it claims; the tracker then has it.

        Callers share one proof, wait for it no longer than `seconds`, and one that failed is not tried again at once.
        """
        task = self.start(endpoint)
        if task is None:
            return False
        done, _ = await asyncio.wait((task,), timeout=seconds)
        return any(one.result() for one in done)

    def start(self, endpoint: Endpoint) -> asyncio.Task[bool] | None:
        """Return the proof under way, begun now if need be; None where it failed a moment ago."""
        label = endpoint.label
        if label not in self._running:
            tried_at = self._tried_at.get(label)
            if tried_at is not None and self._clock() - tried_at < RETRY_SECONDS:
                return None
        return self._running.start(label, lambda: self._prove(endpoint))

    async def read_past(self, endpoint: Endpoint, block: int) -> Header:
        """Return the header of a block as one endpoint reports it; ValueError also for one dated ahead."""
        header = await self.read(endpoint, block)
        if self._heads.is_future(header.made_at):
            raise ValueError("a block of a time to come")
        return header

    async def close(self) -> None:
        """Cancel what is under way."""
        await self._running.close()

    async def read(self, endpoint: Endpoint, block: int) -> Header:
        """Return the header of a block as one endpoint reports it; ValueError where it reports none."""

        async def ask(method: str, params: Sequence[object]) -> bytes:
            call = self._encode(method, params)
            if endpoint.is_removed:
                raise ValueError("taken out of the configuration")
            answer = await self._connectors[endpoint].submit_alone(call, READ_SECONDS, "head")
            got = self._health.settle(endpoint, answer, _HEAVY, vouches=False)
            if isinstance(got, Reply):
                return got.result
            raise ValueError(got.words)

        return await self._read_header(ask, block)

    async def _prove(self, endpoint: Endpoint) -> bool:
        label, block = endpoint.label, self._heads.of(endpoint.label)
        if block is None:
            return False
        try:
            header = await self.read(endpoint, block)
            is_sound = header.number == block and self._heads.fits(block, header.made_at)
            is_sound = is_sound and self._is_whole(label, header)
            if is_sound and header.parent_hash:
                parent = await self.read(endpoint, header.parent)
                is_linked = parent.hash == header.parent_hash and parent.number == header.parent
                is_sound = is_linked and parent.made_at <= header.made_at and self._is_whole(label, parent)
        except ValueError:
            is_sound = False
        if is_sound:
            self._tried_at.pop(label, None)
            self._heads.admit(label, block, header.made_at)
        else:
            self._tried_at[label] = self._clock()
        return is_sound

    def _is_whole(self, label: str, header: Header) -> bool:
        """Return whether nothing speaks against a header's contents.

        A hash that does not come out of them counts once another header's did: before, the layout may be a new one.
        Heads accepted until then are then withdrawn.
        """
        if header.is_whole and not self._is_layout_known:
            self._is_layout_known = True
            for odd in self._odd - {label}:
                self._heads.forget(odd)
        if header.is_whole is False:
            self._odd.add(label)
            return not self._is_layout_known
        return True


_log = structlog.get_logger("waypost.upstream")

_BLOCKS = 64
_QUIET_SECONDS = 60.0
_FIRST_FITTING = 3


class ForkDetector:
    """The hashes that one chain's endpoints reported of its latest blocks.

    Hashes that were reported further apart than `apart` seconds are not compared: the block may have been replaced in
    between, which is no disagreement.
    """

    def __init__(self, chain: str, observer: Observer, apart: float, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._observer = observer
        self._apart = apart
        self._clock = clock
        self._reported: OrderedDict[int, dict[str, tuple[str, float]]] = OrderedDict()
        self._fitting: Counter[str] = Counter()
        self._quiet_until: dict[str, float] = {}

    async def settle(
        self,
        block: int,
        endpoints: Sequence[Endpoint],
        read: Callable[[Endpoint, int], Awaitable[Header]],
        change: Callable[[Endpoint, State], None],
    ) -> None:
        """Ask every endpoint for a settled block; exclude those that most others contradict, admit those that agree.

        Endpoints of another chain, throttled ones and those that rest are not asked.
        """
        asked = [one for one in endpoints if one.wrong_chain is None and one.paused_for <= 0 and one.breaker.is_closed]
        headers = await asyncio.gather(*(read(one, block) for one in asked), return_exceptions=True)
        hashes = {
            one.label: self._name(one.label, header)
            for one, header in zip(asked, headers, strict=True)
            if isinstance(header, Header) and header.number == block
        }
        verdicts = self.judge(block, hashes)
        for one in asked:
            agrees, was_out = verdicts.get(one.label), one.contradiction is not None
            if agrees is not None:
                one.contradiction = None if agrees else f"answered another block {block} than most others"
            if agrees is was_out:
                change(one, "admitted" if was_out else "excluded")

    def _name(self, label: str, header: Header) -> str:
        """Return a header's hash, marked where its contents do not fit and the endpoint's earlier ones did."""
        if header.is_whole:
            self._fitting[label] += 1
        is_odd = header.is_whole is False and self._fitting[label] >= _FIRST_FITTING
        return f"{header.hash} with other contents" if is_odd else header.hash

    def judge(self, block: int, by_label: Mapping[str, str]) -> dict[str, bool]:
        """Return the endpoints that agree with most others on a settled block, asked of all now, and the contradicted.

        It takes a strict majority to contradict, and one other to agree; an endpoint not named is neither.
        """
        self.compare(block, by_label)
        [(common, votes)] = Counter(by_label.values()).most_common(1) or [("", 0)]
        is_settled = votes > 1 and votes * 2 > len(by_label)
        return {label: named == common for label, named in by_label.items()} if is_settled else {}

    def observe(self, label: str, block: int, block_hash: str) -> None:
        """Note a block's hash as the endpoint reports it now."""
        self.compare(block, {label: block_hash})

    def compare(self, block: int, by_label: Mapping[str, str]) -> None:
        """Note a block's hash as several endpoints report it now, and report those that differ from most."""
        now = self._clock()
        reported = self._reported.setdefault(block, {})
        reported.update((label, (block_hash, now)) for label, block_hash in by_label.items())
        if len(self._reported) > _BLOCKS:
            self._reported.popitem(last=False)
        hashes = {other: its_hash for other, (its_hash, at) in reported.items() if now - at <= self._apart}
        if len(set(hashes.values())) < 2:
            return
        counts = Counter(hashes.values())
        most = max(counts.values())
        common = [one for one, count in counts.items() if count == most]
        for other, its_hash in hashes.items():
            if len(common) > 1 or its_hash != common[0]:
                self._report(other, block, hashes, now)

    def _report(self, label: str, block: int, hashes: dict[str, str], now: float) -> None:
        self._observer.disagreed(self._chain, label, block)
        if now >= self._quiet_until.get(label, 0.0):
            self._quiet_until[label] = now + _QUIET_SECONDS
            _log.warning("endpoints disagree", chain=self._chain, endpoint=label, block=block, hashes=dict(hashes))
