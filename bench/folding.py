"""How few requests reach a node: bursts of clients on a near one, a steady stream of single reads on a far one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bench import http_load
from bench.http_load import Load
from bench.open_load import Crowd, connect, poisson
from bench.promises import ROUNDS, Promise, show
from bench.questions import batch, node_request, single

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.relay import CountingRelay

FAR_SECONDS = 0.03
"""How far away the far node is."""

_SECONDS = 4.0
_READS_PER_SECOND = 500
_QUESTIONS = 60
_CLIENTS = 50
_BURSTS = 31


async def near(relay: CountingRelay, base: str, chain: str) -> list[Promise]:
    """Measure bursts: one batch of fifty, and fifty clients that write together."""
    await _post(base, batch(chain), 0.01)
    before = relay.requests
    await _post(base, batch(chain), 0.0)
    of_batch = relay.requests - before
    crowd = await Crowd.gather(base, _CLIENTS)
    counts: list[int] = []
    written: list[float] = []
    for _ in range(_BURSTS + 2):
        before = relay.requests
        written.append(await crowd.ask(single(chain)))
        counts.append(relay.requests - before)
    crowd.close()
    counts, written = sorted(counts[2:]), sorted(written[2:])
    print(
        f"  {_CLIENTS} clients that wrote within {written[_BURSTS // 2] * 1000:.1f} ms cost "
        f"{counts[_BURSTS // 2]} requests (of {_BURSTS} bursts: {counts[0]} to {counts[-1]})"
    )
    return [
        Promise("upstream requests for a batch of 50 balances", of_batch, 1, False),
        Promise("upstream requests for 50 clients within 1 ms", counts[_BURSTS // 2], 2, False),
    ]


async def far(relay: CountingRelay, url: str, base: str, chain: str, near: tuple[str, str]) -> list[Promise]:
    """Measure a node 30 ms away: one caller, then a Poisson stream of single reads.

    `near` is slug and URL of a node next door that is asked at the same pace: a gateway that is asked only every 30 ms
    is slower there too, so only what comes on top of that is due to the distance, and to the hold.
    """
    beside, beside_url = near
    added: list[float] = []
    for _ in range(ROUNDS):
        bare, alone = await _lone(url, node_request, 0.0), await _lone(base, single(chain), 0.0)
        idle, paced = await _lone(beside_url, node_request, FAR_SECONDS), await _lone(base, single(beside), FAR_SECONDS)
        added.append((alone.median - bare.median) - (paced.median - idle.median))
    show("bare node 30 ms away, 1 connection", bare)
    show("gateway, node 30 ms away, 1 connection", alone)
    show("bare node next door, asked every 30 ms", idle)
    show("gateway, node next door, asked every 30 ms", paced)
    before = relay.requests
    load = await poisson(base, single(chain), rate=_READS_PER_SECOND, seconds=_SECONDS)
    show(f"gateway, node 30 ms away, {_READS_PER_SECOND} reads/s (Poisson)", load)
    reads = len(load.latencies) / (relay.requests - before)
    return [
        Promise(f"reads per request, {_READS_PER_SECOND}/s at a node 30 ms away", reads, 1.7, True),
        Promise("median there / median of one caller there", load.median / alone.median, 1.1, False),
        Promise("median that distance adds to one caller, ms", sorted(added)[ROUNDS // 2] * 1000, 0.6, False),
    ]


async def _lone(url: str, body: Callable[[], bytes], pause: float) -> Load:
    """Return the latencies of one caller that pauses between an answer and its next question."""
    client = await connect(url)
    latencies: list[float] = []
    for _ in range(_QUESTIONS):
        latencies.append(await client.send(body()))
        await asyncio.sleep(pause)
    client.close()
    return Load(1 / (sum(latencies) / _QUESTIONS + pause), sorted(latencies))


async def _post(url: str, body: Callable[[], bytes], seconds: float) -> Load:
    return await http_load.post(url, body, expect=b'"result"', connections=1, seconds=seconds)
