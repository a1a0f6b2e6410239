"""What is measured, for Prometheus.

One registry per process. Labels are operation, chain, code, reason, endpoint label, outcome and the like: closed or
configured sets; never an address, a key or a URL. Other modules call the small functions here and know nothing of the
library.
"""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge, Info
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from runtime.counters import Counter, CounterFamily, Histogram, HistogramFamily
from runtime.settings.values import split_address

if TYPE_CHECKING:
    from collections.abc import Callable


CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
# A label value that is no plain word is counted under this one, so that no caller's text can become a label.
OTHER = "other"

# An upstream request was answered, the node cannot do it, it failed, it was rate limited, or it took too long.
Outcome = Literal["answer", "elsewhere", "sick", "limited", "timeout", "cancelled"]
CacheResult = Literal["hit", "miss", "stale"]
FetchResult = Literal["answer", "refused", "failed"]
Face = Literal["grpc", "jsonrpc"]

_WORD = re.compile(r"[A-Za-z0-9_.-]{0,64}")
_LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

REGISTRY = CollectorRegistry(auto_describe=True)

_OPERATIONS = CounterFamily(
    "waypost_operations",
    "Calls that ended, by gRPC status code and reason (empty for successes).",
    ("operation", "chain", "code", "reason"),
    REGISTRY,
)
_OPERATION_SECONDS = HistogramFamily(
    "waypost_operation_seconds", "How long calls took, in seconds.", ("operation", "chain"), _LATENCIES, REGISTRY
)
_IN_FLIGHT = Gauge("waypost_in_flight", "Items in progress.", registry=REGISTRY)
_HTTP = CounterFamily("waypost_http_requests", "HTTP requests of the JSON-RPC face, by status.", ("status",), REGISTRY)
_BATCHES = HistogramFamily(
    "waypost_batch_items", "Items of one JSON-RPC batch.", (), (1, 2, 5, 10, 20, 30, 40, 50), REGISTRY
)
_BATCH_ITEMS = _BATCHES.of()
_REFUSALS = CounterFamily(
    "waypost_refusals", "Items refused by admission, by face and reason.", ("face", "reason"), REGISTRY
)
_UPSTREAM = CounterFamily(
    "waypost_upstream_requests",
    "Requests to nodes, by endpoint label and outcome.",
    ("chain", "endpoint", "outcome"),
    REGISTRY,
)
_UPSTREAM_FAILURES = CounterFamily(
    "waypost_upstream_failures",
    "Calls that got no result from an endpoint, by kind.",
    ("chain", "endpoint", "kind"),
    REGISTRY,
)
_UPSTREAM_SECONDS = HistogramFamily(
    "waypost_upstream_seconds",
    "How long nodes took to answer, in seconds.",
    ("chain", "endpoint"),
    _LATENCIES,
    REGISTRY,
)
_UPSTREAM_BATCH = HistogramFamily(
    "waypost_upstream_batch_calls",
    "Calls that left for a node in one request.",
    ("chain", "endpoint"),
    _SIZES,
    REGISTRY,
)
_FOLD = HistogramFamily("waypost_fold_reads", "Contract reads folded into one call.", ("chain",), _SIZES, REGISTRY)
_LEFT_OUT = CounterFamily(
    "waypost_rows_left_out",
    "Chains that an answer over many chains does not list because they could not be read.",
    ("operation", "chain"),
    REGISTRY,
)
_YIELDS_LEFT_OUT = CounterFamily(
    "waypost_yields_left_out",
    "Pools that the comparison of yields left out, by why: no_rate, too_high, not_finite or duplicate.",
    ("chain", "protocol", "reason"),
    REGISTRY,
)
_JOINED = CounterFamily("waypost_joined_calls", "Calls that shared the answer of another.", ("chain",), REGISTRY)
_HEDGES = CounterFamily(
    "waypost_upstream_hedges",
    "Calls asked of a second endpoint because the first took long, by the second one's label.",
    ("chain", "endpoint"),
    REGISTRY,
)
_DISAGREEMENTS = CounterFamily(
    "waypost_hash_disagreements",
    "Blocks of which an endpoint told another hash than the other endpoints.",
    ("chain", "endpoint"),
    REGISTRY,
)
_HEAD = Gauge("waypost_head_block", "Highest block known of a chain.", ("chain",), registry=REGISTRY)
_ENDPOINT_UP = Gauge(
    "waypost_endpoint_up",
    "1 while an endpoint is used, 0 while it is passed over.",
    ("chain", "endpoint"),
    registry=REGISTRY,
)
_CACHE = CounterFamily("waypost_cache_lookups", "Cache look-ups by result.", ("cache", "result"), REGISTRY)
_CACHE_BYTES = Gauge("waypost_cache_bytes", "Bytes held by a cache.", ("cache",), registry=REGISTRY)
_FETCHES = CounterFamily(
    "waypost_fetches", "Fetches of addresses that contracts have chosen, by result.", ("result",), REGISTRY
)
_TASKS = Gauge("waypost_tasks", "Tasks of the event loop at the moment of this reading.", registry=REGISTRY)
_WORKERS = Gauge(
    "waypost_workers",
    "Processes on the same ports, by state: configured or serving.",
    ("state",),
    registry=REGISTRY,
)
_WORKER_RESTARTS = Gauge(
    "waypost_worker_restarts", "How often one of these processes was started again.", registry=REGISTRY
)
_BUILD = Info("waypost_build", "What is running.", registry=REGISTRY)


def word(text: str | None) -> str:
    """Return a label value: the text if it is a plain word of 64 characters at most, else `other`; None is empty.

    Addresses and keys are words too: callers pass operation names, slugs, endpoint labels and reasons alone.
    """
    if text is None:
        return ""
    return text if _WORD.fullmatch(text) and not text.startswith(("0x", "wp_")) else OTHER


def count_operation(operation: str, chain: str | None, code: str, reason: str | None, seconds: float) -> None:
    """Count one ended call. `code` is the gRPC status name, `reason` None for a success."""
    calls, duration = _operation_series(operation, chain, code, reason)
    calls.count += 1
    duration.observe(seconds)


def success_counter(operation: str) -> Callable[[str, float], None]:
    """Return what counts an answered call of the operation, given the chain's slug and seconds: for every call."""
    known: dict[str, tuple[Counter, Histogram]] = {}

    def count(chain: str, seconds: float) -> None:
        series = known.get(chain)
        if series is None:
            series = known[chain] = _operation_series(operation, chain, "OK", None)
        series[0].count += 1
        series[1].observe(seconds)

    return count


@lru_cache(maxsize=4096)
def _operation_series(operation: str, chain: str | None, code: str, reason: str | None) -> tuple[Counter, Histogram]:
    # Finding a series by its labels costs more than incrementing it.
    operation, chain = word(operation), word(chain)
    return (
        _OPERATIONS.of(operation, chain, word(code), word(reason)),
        _OPERATION_SECONDS.of(operation, chain),
    )


def watch_in_flight(count: Callable[[], int]) -> None:
    """Let `count` report the items in progress whenever the metrics are read, which costs the calls nothing."""
    _IN_FLIGHT.set_function(count)


def count_http_request(status: int) -> None:
    """Count one HTTP request of the JSON-RPC face."""
    _http_series(status).count += 1


@lru_cache(maxsize=64)
def _http_series(status: int) -> Counter:
    return _HTTP.of(str(status))


def observe_batch(items: int) -> None:
    """Record how many items one JSON-RPC batch held."""
    _BATCH_ITEMS.observe(items)


def count_refusal(face: Face, reason: str, items: int = 1) -> None:
    """Count items that admission refused."""
    _REFUSALS.of(face, word(reason)).count += items


def count_upstream(chain: str, endpoint: str, outcome: Outcome, seconds: float, calls: int = 1) -> None:
    """Count one request to a node: its endpoint's label, how it ended, how long it took, how many calls it carried."""
    requests, duration, batch = _upstream_series(chain, endpoint, outcome)
    requests.count += 1
    duration.observe(seconds)
    batch.observe(calls)


@lru_cache(maxsize=1024)
def _upstream_series(chain: str, endpoint: str, outcome: Outcome) -> tuple[Counter, Histogram, Histogram]:
    chain, endpoint = word(chain), word(endpoint)
    return (
        _UPSTREAM.of(chain, endpoint, outcome),
        _UPSTREAM_SECONDS.of(chain, endpoint),
        _UPSTREAM_BATCH.of(chain, endpoint),
    )


def count_upstream_failure(chain: str, endpoint: str, kind: str) -> None:
    """Count one call that got no result from an endpoint; `kind` is out of a closed set of short words."""
    _UPSTREAM_FAILURES.of(word(chain), word(endpoint), word(kind)).count += 1


def observe_fold(chain: str, reads: int) -> None:
    """Record how many contract reads one folded call held."""
    _fold_series(chain).observe(reads)


@lru_cache(maxsize=256)
def _fold_series(chain: str) -> Histogram:
    return _FOLD.of(word(chain))


def count_joined(chain: str) -> None:
    """Count a call that shared the answer of an identical one in flight."""
    _joined_series(chain).count += 1


@lru_cache(maxsize=256)
def _joined_series(chain: str) -> Counter:
    return _JOINED.of(word(chain))


def count_left_out(operation: str, chain: str) -> None:
    """Count a chain that an answer over many chains does not list, because it could not be read."""
    _LEFT_OUT.of(word(operation), word(chain)).count += 1


def count_yields_left_out(chain: str, protocol: str, reason: str, pools: int) -> None:
    """Count pools of a protocol on a chain that one build of the comparison left out; `reason` is a short word."""
    _YIELDS_LEFT_OUT.of(word(chain), word(protocol), word(reason)).count += pools


def count_hedge(chain: str, endpoint: str) -> None:
    """Count a call that was sent to this endpoint too, because another one took long."""
    _HEDGES.of(word(chain), word(endpoint)).count += 1


def count_disagreement(chain: str, endpoint: str) -> None:
    """Count a block of which this endpoint reported another hash than the others."""
    _DISAGREEMENTS.of(word(chain), word(endpoint)).count += 1


def set_head(chain: str, block: int) -> None:
    """Record the highest block known of a chain."""
    _HEAD.labels(word(chain)).set(block)


def set_endpoint_up(chain: str, endpoint: str, up: bool) -> None:
    """Record whether an endpoint is used at present."""
    _ENDPOINT_UP.labels(word(chain), word(endpoint)).set(1 if up else 0)


def count_cache(cache: str, result: CacheResult) -> None:
    """Count one look-up in a named cache."""
    cache_lookups(cache, result).count += 1


@lru_cache(maxsize=64)
def cache_lookups(cache: str, result: CacheResult) -> Counter:
    """Return the counter of a named cache's look-ups that ended so: for callers that increment it at every call."""
    return _CACHE.of(word(cache), result)


def measure_cache(cache: str, size: Callable[[], int]) -> None:
    """Have the bytes that a named cache holds read when metrics are rendered."""
    _CACHE_BYTES.labels(word(cache)).set_function(size)


def count_fetch(result: FetchResult) -> None:
    """Count one fetch through the guarded fetcher."""
    _FETCHES.of(result).count += 1


def set_tasks(tasks: int) -> None:
    """Record how many tasks the event loop has."""
    _TASKS.set(tasks)


def set_workers(*, configured: int, serving: int, restarts: int) -> None:
    """Record how many processes there are on the same ports, as their parent reports."""
    _WORKERS.labels("configured").set(configured)
    _WORKERS.labels("serving").set(serving)
    _WORKER_RESTARTS.set(restarts)


def set_build(version: str, profile: str) -> None:
    """Record what is running."""
    _BUILD.info({"version": version, "profile": profile})


def render_metrics() -> bytes:
    """Return everything measured in Prometheus' text format (content type `CONTENT_TYPE`)."""
    return generate_latest(REGISTRY)


async def start_metrics(listen: str, *, worker: int = 0) -> tuple[web.AppRunner, int]:
    """Serve `GET /metrics` on `host:port`; return the runner, to clean up at the end, and the port.

    Worker number n listens on port + n, because every process has its own figures. Raises OSError when the address
    cannot be bound.
    """
    host, port = split_address(listen)
    app = web.Application()
    app.router.add_get("/metrics", _answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port + worker if port else 0).start()
    except OSError:
        await runner.cleanup()
        raise
    bound: int = runner.addresses[0][1]
    return runner, bound


async def _answer(_request: web.Request) -> web.Response:
    set_tasks(len(asyncio.all_tasks()))
    return web.Response(body=render_metrics(), headers={"Content-Type": CONTENT_TYPE})
