"""What is measured, for Prometheus.

One registry per process. Labels are operation, chain, code, reason, endpoint label, outcome and the like: closed or
configured sets; never an address, a key or a URL. Other modules call the small functions here and know nothing of the
library.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Literal, Protocol

from prometheus_client import CollectorRegistry, Gauge, Info

from runtime.counters import Counter, CounterFamily, Histogram, HistogramFamily

if TYPE_CHECKING:
    from collections.abc import Callable


# A label value that is no plain word is counted under this one, so that no caller's text can become a label.
OTHER = "other"

# An upstream request was answered, the node cannot do it, it failed, it was rate limited, or it took too long.
Outcome = Literal["answer", "elsewhere", "sick", "limited", "timeout", "cancelled"]
CacheResult = Literal["hit", "miss", "stale"]
FetchResult = Literal["answer", "refused", "failed"]
Face = Literal["grpc", "jsonrpc"]
SocketKind = Literal["websocket", "sse"]

_WORD = re.compile(r"[A-Za-z0-9_.-]{0,64}")
LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

REGISTRY = CollectorRegistry(auto_describe=True)

_OPERATIONS = CounterFamily(
    "waypost_operations",
    "Calls that ended, by gRPC status code and reason (empty for successes).",
    ("operation", "chain", "code", "reason"),
    REGISTRY,
)
_OPERATION_SECONDS = HistogramFamily(
    "waypost_operation_seconds", "How long calls took, in seconds.", ("operation", "chain"), LATENCIES, REGISTRY
)
_STREAMS_OPEN = Gauge("waypost_streams_open", "Streams that are open.", ("operation",), registry=REGISTRY)
_STREAM_EVENTS = CounterFamily(
    "waypost_stream_events", "Events that streams sent to their callers.", ("operation", "chain"), REGISTRY
)
_IN_FLIGHT = Gauge("waypost_in_flight", "Items in progress.", registry=REGISTRY)
_CERTIFICATE = Gauge(
    "waypost_certificate_expiry_seconds",
    "How long a listener's certificate is still valid, in seconds; negative once it has expired.",
    ("listener",),
    registry=REGISTRY,
)
_CERTIFICATE_FAILED = Gauge(
    "waypost_certificate_reload_failed",
    "1 while a listener's changed certificate files cannot be used and the certificate of before is served, else 0.",
    ("listener",),
    registry=REGISTRY,
)
_GENERATION = Gauge(
    "waypost_config_generation", "How many settings were applied: 1 at the start, 1 more by reload.", registry=REGISTRY
)
_HTTP = CounterFamily("waypost_http_requests", "HTTP requests of the JSON-RPC face, by status.", ("status",), REGISTRY)
_SOCKETS = Gauge(
    "waypost_http_sockets_open",
    "Sockets and event streams of the JSON-RPC face that are open, by kind.",
    ("kind",),
    registry=REGISTRY,
)
_SOCKET_MESSAGES = CounterFamily(
    "waypost_http_socket_messages", "Messages that clients sent over sockets.", (), REGISTRY
).of()
_SOCKET_EVENTS = CounterFamily(
    "waypost_http_socket_events", "Events that were sent over sockets and event streams, by kind.", ("kind",), REGISTRY
)
_BATCHES = HistogramFamily(
    "waypost_batch_items", "Items of one batch.", (), (1, 2, 5, 10, 20, 30, 40, 50, 100, 200), REGISTRY
)
_BATCH_ITEMS = _BATCHES.of()
_REFUSALS = CounterFamily(
    "waypost_refusals", "Items refused by admission, by face and reason.", ("face", "reason"), REGISTRY
)
_YIELDS_LEFT_OUT = CounterFamily(
    "waypost_yields_left_out",
    "Pools that the comparison of yields left out, by why: no_rate, too_high, not_finite or duplicate.",
    ("chain", "protocol", "reason"),
    REGISTRY,
)
_CACHE = CounterFamily("waypost_cache_lookups", "Cache look-ups by result.", ("cache", "result"), REGISTRY)
_CACHE_BYTES = Gauge("waypost_cache_bytes", "Bytes held by a cache.", ("cache",), registry=REGISTRY)
_FETCHES = CounterFamily(
    "waypost_fetches", "Fetches of addresses that contracts have chosen, by result.", ("result",), REGISTRY
)
_STORE_UP = Gauge(
    "waypost_store_up",
    "1 while a store answers, 0 since it failed: `database` (keys, prices) or `cache` (Redis).",
    ("store",),
    registry=REGISTRY,
)
_SPANS = CounterFamily(
    "waypost_spans", "Spans by what became of them: recorded, then exported or failed.", ("result",), REGISTRY
)
_USAGE_PENDING = Gauge("waypost_usage_pending_intervals", "Intervals of usage not written yet.", registry=REGISTRY)
_USAGE_LOST = CounterFamily(
    "waypost_usage_lost_requests", "Requests whose usage was given up, as the database was away.", (), REGISTRY
)
_STREAM_FAILURES = CounterFamily(
    "waypost_stream_failures",
    "Times that all streams of a chain were ended because of what its nodes answered.",
    ("chain", "reason"),
    REGISTRY,
)
_TASKS = Gauge("waypost_tasks", "Tasks of the event loop at the moment of this reading.", registry=REGISTRY)
_WORKERS = Gauge(
    "waypost_workers",
    "Processes on the same ports, by state: configured or serving.",
    ("state",),
    registry=REGISTRY,
)
_WORKER_RESTARTS = CounterFamily(
    "waypost_worker_restarts", "Processes on the same ports that were started again.", (), REGISTRY
)
_RESTARTS = _WORKER_RESTARTS.of()
_QUOTA_DEGRADED = Gauge(
    "waypost_quota_degraded",
    "1 while this process counts quotas alone, because what counts them for all processes does not answer.",
    registry=REGISTRY,
)
_BUILD = Info("waypost_build", "What is running.", registry=REGISTRY)

# How one figure is made of those of several processes. Counters and histograms are added up.
Merging = Literal["sum", "min", "max"]
GAUGES: dict[str, Merging] = {
    "waypost_in_flight": "sum",
    "waypost_http_sockets_open": "sum",
    "waypost_streams_open": "sum",
    "waypost_tasks": "sum",
    "waypost_cache_bytes": "sum",
    "waypost_head_block": "max",
    "waypost_endpoint_head_block": "max",
    # Each process judges endpoints by its own requests: one of them may pass over what serves the others.
    "waypost_endpoint_up": "max",
    "waypost_store_up": "min",
    "waypost_workers": "max",
    "waypost_build": "max",
    "waypost_quota_degraded": "max",
    "waypost_usage_pending_intervals": "sum",
    "waypost_config_generation": "min",
    "waypost_certificate_expiry_seconds": "min",
    "waypost_certificate_reload_failed": "max",
    "waypost_upstream_announcing": "max",
}
OF_THE_PARENT = ("waypost_workers", "waypost_worker_restarts")
"""What the parent of several processes knows better than they."""
OF_ALL = ("waypost_certificate_expiry_seconds", "waypost_certificate_reload_failed")
"""What the parent of several processes has too: it serves a listener of its own, the metrics'."""


def word(text: str | None) -> str:
    """Return a label value: the text if it is a plain word of 64 characters at most, else `other`; None is empty.

    Addresses and keys are words too: callers pass operation names, slugs, endpoint labels and reasons alone.
    """
    if text is None:
        return ""
    return text if _WORD.fullmatch(text) and not text.startswith(("0x", "wp_")) else OTHER


def count_operation(operation: str, chain: str | None, code: str, reason: str | None, seconds: float | None) -> None:
    """Count one ended call.

    `code` is the gRPC status name, `reason` None for a success, `seconds` None for a stream.
    """
    calls, duration = _operation_series(operation, chain, code, reason)
    calls.count += 1
    if seconds is not None:
        duration.observe(seconds)


def add_open_streams(operation: str, streams: int) -> None:
    """Record that so many streams of an operation were opened, or closed where it is negative."""
    _STREAMS_OPEN.labels(word(operation)).inc(streams)


@lru_cache(maxsize=4096)
def stream_events(operation: str, chain: str) -> Counter:
    """Return the counter of the events sent by streams of an operation and chain: for those that count every one."""
    return _STREAM_EVENTS.of(word(operation), word(chain))


class AnsweredCall(Protocol):
    """A call that was answered: its chain's slug, and when it began by the monotonic clock."""

    chain: str
    started: float


def success_counter(operation: str) -> Callable[[AnsweredCall], None]:
    """Return what counts an answered call of the operation, at its end: for every call."""
    known: dict[str, tuple[Counter, Histogram]] = {}

    def count(call: AnsweredCall) -> None:
        chain = call.chain
        series = known.get(chain)
        if series is None:
            series = known[chain] = _operation_series(operation, chain, "OK", None)
        series[0].count += 1
        series[1].observe(monotonic() - call.started)

    return count


@lru_cache(maxsize=4096)
def _operation_series(operation: str, chain: str | None, code: str, reason: str | None) -> tuple[Counter, Histogram]:
    # Finding a series by its labels costs more than incrementing it.
    operation, chain = word(operation), word(chain)
    return (
        _OPERATIONS.of(operation, chain, word(code), word(reason)),
        _OPERATION_SECONDS.of(operation, chain),
    )


def note_operation_trace(operation: str, chain: str | None, seconds: float, trace_id: str) -> None:
    """Name the trace of a call that was counted, as an example of calls that take so long."""
    _operation_series(operation, chain, "OK", None)[1].note_trace(seconds, trace_id)


def watch_in_flight(count: Callable[[], int]) -> None:
    """Let `count` report the items in progress whenever the metrics are read, which costs the calls nothing."""
    _IN_FLIGHT.set_function(count)


def count_http_request(status: int) -> None:
    """Count one HTTP request of the JSON-RPC face."""
    _http_series(status).count += 1


@lru_cache(maxsize=64)
def _http_series(status: int) -> Counter:
    return _HTTP.of(str(status))


def add_open_sockets(kind: SocketKind, sockets: int) -> None:
    """Record that so many sockets were opened, or closed where it is negative."""
    _SOCKETS.labels(kind).inc(sockets)


def count_socket_message() -> None:
    """Count one message that came over a socket."""
    _SOCKET_MESSAGES.count += 1


@lru_cache(maxsize=8)
def socket_events(kind: SocketKind) -> Counter:
    """Return the counter of events sent over sockets of a kind: for those that count every one."""
    return _SOCKET_EVENTS.of(kind)


def observe_batch(items: int) -> None:
    """Record how many items one batch held, over either face."""
    _BATCH_ITEMS.observe(items)


def count_refusal(face: Face, reason: str, items: int = 1) -> None:
    """Count items that admission refused."""
    _refusal_series(face, reason).count += items


@lru_cache(maxsize=64)
def _refusal_series(face: Face, reason: str) -> Counter:
    return _REFUSALS.of(face, word(reason))


def count_yields_left_out(chain: str, protocol: str, reason: str, pools: int) -> None:
    """Count pools of a protocol on a chain that one build of the comparison left out; `reason` is a short word."""
    _YIELDS_LEFT_OUT.of(word(chain), word(protocol), word(reason)).count += pools


def count_stream_failure(chain: str, reason: str) -> None:
    """Count that all streams of a chain were ended because of what its nodes answered."""
    _STREAM_FAILURES.of(word(chain), word(reason)).count += 1


def set_store_up(store: Literal["database", "cache"], up: bool) -> None:
    """Record whether a store answers."""
    _STORE_UP.labels(store).set(1 if up else 0)


def count_spans(result: Literal["recorded", "exported", "failed"], spans: int) -> None:
    """Count spans that ended and are to be handed to the collector, that were, and that it did not take."""
    _SPANS.of(result).count += spans


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


def measure_usage_pending(intervals: Callable[[], int]) -> None:
    """Have the intervals of usage that wait for the database read when metrics are rendered."""
    _USAGE_PENDING.set_function(intervals)


def count_usage_lost(requests: int) -> None:
    """Count requests whose usage was given up."""
    _USAGE_LOST.of().count += requests


def set_tasks(tasks: int) -> None:
    """Record how many tasks the event loop has."""
    _TASKS.set(tasks)


def set_workers(*, configured: int, serving: int, restarts: int) -> None:
    """Record how many processes there are on the same ports, as their parent reports."""
    _WORKERS.labels("configured").set(configured)
    _WORKERS.labels("serving").set(serving)
    _RESTARTS.count = restarts


def set_quota_degraded(degraded: bool) -> None:
    """Record whether this process counts quotas alone that it should share."""
    _QUOTA_DEGRADED.set(int(degraded))


def set_certificate(listener: str, expires_at: float, *, failed: bool) -> None:
    """Record until when a listener's certificate is valid (unix seconds), and whether a newer one could not be used."""
    _CERTIFICATE.labels(word(listener)).set_function(lambda: expires_at - time.time())
    _CERTIFICATE_FAILED.labels(word(listener)).set(int(failed))


def set_generation(generation: int) -> None:
    """Record how many settings this process has had, the present ones included."""
    _GENERATION.set(generation)


def set_build(version: str, profile: str) -> None:
    """Record what is running."""
    _BUILD.info({"version": version, "profile": profile})
