"""How few requests reach a node: bursts of clients on a near one, a steady stream of single reads on a far one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import http_load
from bench.open_load import Crowd, poisson
from bench.promises import Promise, show
from bench.questions import batch, node_request, single

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.http_load import Load
    from bench.relay import CountingRelay

FAR_SECONDS = 0.03
"""How far away the far node is."""

_SECONDS = 4.0
_READS_PER_SECOND = 500
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


async def far(relay: CountingRelay, url: str, base: str, chain: str) -> list[Promise]:
    """Measure a node 30 ms away: one caller, then a Poisson stream of single reads."""
    bare = show("bare node 30 ms away, 1 connection", await _post(url, node_request, _SECONDS))
    alone = show("gateway, node 30 ms away, 1 connection", await _post(base, single(chain), _SECONDS))
    before = relay.requests
    load = await poisson(base, single(chain), rate=_READS_PER_SECOND, seconds=_SECONDS)
    show(f"gateway, node 30 ms away, {_READS_PER_SECOND} reads/s (Poisson)", load)
    reads = len(load.latencies) / (relay.requests - before)
    return [
        Promise(f"reads per request, {_READS_PER_SECOND}/s at a node 30 ms away", reads, 1.7, True),
        Promise("median there / median of one caller there", load.median / alone.median, 1.1, False),
        Promise("median added for one caller there, ms", (alone.median - bare.median) * 1000, 1.5, False),
    ]


async def _post(url: str, body: Callable[[], bytes], seconds: float) -> Load:
    return await http_load.post(url, body, expect=b'"result"', connections=1, seconds=seconds)
