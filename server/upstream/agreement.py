"""Whether the endpoints of a chain tell the same blocks.

Two nodes that answer different hashes of one block follow different forks, or one of them lies. Of two it is not known
which one is right: it is counted and logged by label, for people. One that most others contradict at a settled
height gets no traffic until it agrees with them.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

import structlog

from server.upstream.headers import Header

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from server.upstream.endpoint import Endpoint
    from server.upstream.observer import Observer, State

_log = structlog.get_logger("waypost.upstream")

_BLOCKS = 64
_QUIET_SECONDS = 60.0
_FIRST_FITTING = 3


class Agreement:
    """The hashes that one chain's endpoints told of its latest blocks.

    Hashes that were told further apart than `apart` seconds are not compared: the block may have been replaced in
    between, which is no disagreement.
    """

    def __init__(self, chain: str, observer: Observer, apart: float, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._observer = observer
        self._apart = apart
        self._clock = clock
        self._told: OrderedDict[int, dict[str, tuple[str, float]]] = OrderedDict()
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
        asked = [one for one in endpoints if one.wrong_chain is None and one.paused_for <= 0 and one.is_answering]
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
        """Return who agrees with most others on a settled block, as all of them answer it now, and who is contradicted.

        It takes a strict majority to contradict, and one other to agree; who is not named is neither.
        """
        self.compare(block, by_label)
        [(common, votes)] = Counter(by_label.values()).most_common(1) or [("", 0)]
        is_settled = votes > 1 and votes * 2 > len(by_label)
        return {label: named == common for label, named in by_label.items()} if is_settled else {}

    def observe(self, label: str, block: int, block_hash: str) -> None:
        """Take note of a block's hash as the endpoint tells it now."""
        self.compare(block, {label: block_hash})

    def compare(self, block: int, by_label: Mapping[str, str]) -> None:
        """Take note of a block's hash as several endpoints tell it now, and report those who differ from most."""
        now = self._clock()
        told = self._told.setdefault(block, {})
        told.update((label, (block_hash, now)) for label, block_hash in by_label.items())
        if len(self._told) > _BLOCKS:
            self._told.popitem(last=False)
        hashes = {other: told_hash for other, (told_hash, at) in told.items() if now - at <= self._apart}
        if len(set(hashes.values())) < 2:
            return
        counts = Counter(hashes.values())
        most = max(counts.values())
        common = [told_hash for told_hash, count in counts.items() if count == most]
        for other, told_hash in hashes.items():
            if len(common) > 1 or told_hash != common[0]:
                self._report(other, block, hashes, now)

    def _report(self, label: str, block: int, hashes: dict[str, str], now: float) -> None:
        self._observer.disagreed(self._chain, label, block)
        if now >= self._quiet_until.get(label, 0.0):
            self._quiet_until[label] = now + _QUIET_SECONDS
            _log.warning("endpoints disagree", chain=self._chain, endpoint=label, block=block, hashes=dict(hashes))
