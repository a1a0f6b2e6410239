"""What is measured of nodes: requests, endpoints, heads, folds and joined calls; see `runtime.metrics`."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from prometheus_client import Gauge

from runtime.counters import Counter, CounterFamily, Histogram, HistogramFamily
from runtime.metrics import LATENCIES, REGISTRY, SIZES, Outcome, word

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
    LATENCIES,
    REGISTRY,
)
_UPSTREAM_BATCH = HistogramFamily(
    "waypost_upstream_batch_calls",
    "Calls that left for a node in one request.",
    ("chain", "endpoint"),
    SIZES,
    REGISTRY,
)
_FOLD = HistogramFamily("waypost_fold_reads", "Contract reads folded into one call.", ("chain",), SIZES, REGISTRY)
_LEFT_OUT = CounterFamily(
    "waypost_rows_left_out",
    "Chains that an answer over many chains does not list because they could not be read.",
    ("operation", "chain"),
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
    "Blocks of which an endpoint reported another hash than the other endpoints.",
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
_ENDPOINT_HEAD = Gauge(
    "waypost_endpoint_head_block",
    "Newest block that an endpoint reported.",
    ("chain", "endpoint"),
    registry=REGISTRY,
)
_UPSTREAM_BYTES = CounterFamily(
    "waypost_upstream_bytes",
    "Bytes of requests to nodes (sent) and of their answers' bodies (received).",
    ("chain", "endpoint", "direction"),
    REGISTRY,
)
_ANNOUNCEMENTS = CounterFamily(
    "waypost_upstream_announcements",
    "New blocks that nodes announced over their WebSockets.",
    ("chain", "endpoint"),
    REGISTRY,
)
_ANNOUNCING = Gauge(
    "waypost_upstream_announcing",
    "1 while an endpoint's WebSocket announces new blocks, 0 while it is down or silent; absent where nobody watches.",
    ("chain", "endpoint"),
    registry=REGISTRY,
)
_UNREAD_LOGS = CounterFamily(
    "waypost_unread_logs",
    "Blocks whose logs a filter did not need, because their bloom filter holds nothing that it selects.",
    ("chain",),
    REGISTRY,
)


def count_unread_logs(chain: str) -> None:
    """Count a block whose logs one filter did not need."""
    _UNREAD_LOGS.of(word(chain)).count += 1


def count_announcement(chain: str, endpoint: str) -> None:
    """Count one block that a node announced."""
    _ANNOUNCEMENTS.of(word(chain), word(endpoint)).count += 1


def set_announcing(chain: str, endpoint: str, is_announcing: bool) -> None:
    """Record whether an endpoint announces new blocks at present."""
    _ANNOUNCING.labels(word(chain), word(endpoint)).set(1 if is_announcing else 0)


def forget_announcements(chain: str, endpoint: str) -> None:
    """Show no longer whether the endpoint announces blocks: its socket is closed on purpose."""
    with suppress(KeyError):
        _ANNOUNCING.remove(word(chain), word(endpoint))


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


def note_upstream_trace(chain: str, endpoint: str, seconds: float, trace_id: str) -> None:
    """Name the trace of a request to a node that was counted, as an example of those that take so long."""
    _upstream_series(chain, endpoint, "answer")[1].note_trace(seconds, trace_id)


def count_upstream_bytes(chain: str, endpoint: str, sent: int, received: int) -> None:
    """Count the bytes of one request to a node and of its answer's body."""
    out, back = _byte_series(chain, endpoint)
    out.count += sent
    back.count += received


@lru_cache(maxsize=1024)
def _byte_series(chain: str, endpoint: str) -> tuple[Counter, Counter]:
    chain, endpoint = word(chain), word(endpoint)
    return _UPSTREAM_BYTES.of(chain, endpoint, "sent"), _UPSTREAM_BYTES.of(chain, endpoint, "received")


def count_upstream_failure(chain: str, endpoint: str, kind: str) -> None:
    """Count one call that got no result from an endpoint; `kind` is out of a closed set of short words."""
    _failure_series(chain, endpoint, kind).count += 1


@lru_cache(maxsize=1024)
def _failure_series(chain: str, endpoint: str, kind: str) -> Counter:
    return _UPSTREAM_FAILURES.of(word(chain), word(endpoint), word(kind))


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


def count_hedge(chain: str, endpoint: str) -> None:
    """Count a call that was sent to this endpoint too, because another one took long."""
    _HEDGES.of(word(chain), word(endpoint)).count += 1


def count_disagreement(chain: str, endpoint: str) -> None:
    """Count a block of which this endpoint reported another hash than the others."""
    _DISAGREEMENTS.of(word(chain), word(endpoint)).count += 1


def set_head(chain: str, block: int) -> None:
    """Record the highest block known of a chain."""
    _head(chain).set(block)


@lru_cache(maxsize=256)
def _head(chain: str) -> Gauge:
    return _HEAD.labels(word(chain))


def set_endpoint_head(chain: str, endpoint: str, block: int) -> None:
    """Record the newest block that an endpoint reported."""
    _endpoint_head(chain, endpoint).set(block)


@lru_cache(maxsize=1024)
def _endpoint_head(chain: str, endpoint: str) -> Gauge:
    # Many answers bring a head.
    return _ENDPOINT_HEAD.labels(word(chain), word(endpoint))


def set_endpoint_up(chain: str, endpoint: str, up: bool) -> None:
    """Record whether an endpoint is used at present."""
    _ENDPOINT_UP.labels(word(chain), word(endpoint)).set(1 if up else 0)


def forget_endpoint(chain: str, endpoint: str) -> None:
    """Show the endpoint no longer, which is not configured any more; what was counted of it stays."""
    with suppress(KeyError):
        _ENDPOINT_UP.remove(word(chain), word(endpoint))
    with suppress(KeyError):
        _ENDPOINT_HEAD.remove(word(chain), word(endpoint))
    # One of the same name may come again.
    _endpoint_head.cache_clear()
