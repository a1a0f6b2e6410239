"""What is measured, as Prometheus reads it: of one process, or of several as if they were one.

A process answers `GET /metrics` in the text format or, where the scraper asks for it, in OpenMetrics with exemplars:
trace ids of slow calls. Of several processes on the same ports each gives its figures to their parent over a Unix
socket (`serve_figures`), which adds them up (`MergedFigures`) and answers for all: no figure depends on which process
was asked. What a process counted that has ended stays counted, so that no total ever falls.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from runtime.handshakes import TlsSite
from runtime.metrics import GAUGES, OF_ALL, OF_THE_PARENT, REGISTRY, set_tasks
from runtime.settings.values import split_address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from ssl import SSLContext

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
# How long a process may take to give its figures; one that hangs must not keep the others' from being read.
GIVING_SECONDS = 1.0
_ADDED = frozenset({"counter", "histogram"})


def render_metrics() -> bytes:
    """Return everything measured in Prometheus' text format (content type `CONTENT_TYPE`)."""
    return generate_latest(REGISTRY)


async def start_metrics(
    listen: str,
    figures: Callable[[], Awaitable[CollectorRegistry]] | None = None,
    *,
    tls: Callable[[], SSLContext] | None = None,
) -> tuple[web.AppRunner, int]:
    """Serve `GET /metrics` on `host:port`; return the runner, to clean up at the end, and the port.

    `figures` returns what is shown, by default what this process measures; `tls` what new connections are served with,
    where that is TLS. Raises OSError when the address cannot be bound.
    """

    async def answer(request: web.Request) -> web.Response:
        registry = _own() if figures is None else await figures()
        encode, content_type = _encoder(request.headers.get("Accept", ""))
        # Thousands of lines: nothing else waits for them.
        body = await asyncio.to_thread(encode, registry)
        return web.Response(body=body, headers={"Content-Type": content_type})

    host, port = split_address(listen)
    runner = _runner("/metrics", answer)
    await runner.setup()
    try:
        await (web.TCPSite(runner, host, port) if tls is None else TlsSite(runner, host, port, tls)).start()
    except OSError:
        await runner.cleanup()
        raise
    bound: int = runner.addresses[0][1]
    return runner, bound


def _own() -> CollectorRegistry:
    set_tasks(len(asyncio.all_tasks()))
    # Collected on the event loop, where the figures change, and rendered elsewhere.
    return _Snapshot.registry(REGISTRY.collect())


def _encoder(accept: str) -> tuple[Callable[[Any], bytes], str]:
    try:
        return choose_encoder(accept)
    except (TypeError, ValueError):
        # A version that is no number.
        return generate_latest, CONTENT_TYPE


def _runner(path: str, answer: Callable[[web.Request], Awaitable[web.Response]]) -> web.AppRunner:
    app = web.Application()
    app.router.add_get(path, answer)
    return web.AppRunner(app, access_log=None)


class _Snapshot(Collector):
    """Families as they were at one moment."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    @classmethod
    def registry(cls, families: Iterable[Metric]) -> CollectorRegistry:
        """Return a registry of nothing but these families."""
        registry = CollectorRegistry()
        registry.register(cls(families))
        return registry

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the names are as unique as they were where they come from."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Return the families."""
        yield from self._families


Key = tuple[str, tuple[tuple[str, str], ...]]


class Sample(msgspec.Struct, array_like=True):
    """One sample, with the value, the time and the trace of its exemplar where it has one."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float
    exemplar: tuple[dict[str, str], float, float] | None = None

    @property
    def key(self) -> Key:
        """What distinguishes it from others of its family."""
        return self.name, self.labels


class Family(msgspec.Struct, array_like=True):
    """One metric: its name, type and help, and its samples in the order of their exposition."""

    name: str
    type: str
    text: str
    samples: list[Sample]


class Figures(msgspec.Struct, array_like=True):
    """What one process measures; `process` distinguishes it from the one that had its place before."""

    process: str
    families: list[Family]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Figures).decode


@cache
def _process() -> str:
    # Not with the module, which forks share.
    return secrets.token_hex(8)


def collect_figures() -> Figures:
    """Return what this process measures."""
    set_tasks(len(asyncio.all_tasks()))
    return Figures(_process(), [_family(metric) for metric in REGISTRY.collect()])


def _family(metric: Metric) -> Family:
    samples = [
        Sample(
            one.name,
            tuple(one.labels.items()),
            one.value,
            None
            if one.exemplar is None
            else (dict(one.exemplar.labels), one.exemplar.value, float(one.exemplar.timestamp or 0)),
        )
        for one in metric.samples
    ]
    return Family(metric.name, metric.type, metric.documentation, samples)


async def serve_figures(path: Path) -> web.AppRunner:
    """Give this process's figures to its parent at a Unix socket; return the runner, to clean up at the end."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=_encode(collect_figures()))

    with suppress(FileNotFoundError):
        # That of a process that was killed is still there.
        os.unlink(path)
    runner = _runner("/figures", answer)
    await runner.setup()
    await web.UnixSite(runner, path).start()
    return runner


def figures_socket(folder: Path, worker: int) -> Path:
    """Return where a worker gives its figures."""
    return folder / f"figures-{worker}.sock"


class MergedFigures:
    """The figures of several processes as those of one; `folder` holds their sockets."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._sockets = [figures_socket(folder, number) for number in range(workers)]
        self._last: dict[Path, Figures] = {}
        # What processes counted that have ended.
        self._ended: list[Family] = []
        self._reading = asyncio.Lock()

    async def read(self) -> CollectorRegistry:
        """Return the figures of all processes; of one that does not answer what it had counted last, and no gauges."""
        async with self._reading:
            got = await asyncio.gather(*(self._ask(socket) for socket in self._sockets))
            own = [_family(metric) for metric in REGISTRY.collect() if metric.name in (*OF_THE_PARENT, *OF_ALL)]
            return await asyncio.to_thread(self._merge, dict(zip(self._sockets, got, strict=True)), own)

    async def _ask(self, socket: Path) -> Figures | None:
        try:
            connector = aiohttp.UnixConnector(str(socket))
            timeout = aiohttp.ClientTimeout(total=GIVING_SECONDS)
            async with (
                aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
                session.get("http://worker/figures") as response,
            ):
                return _decode(await response.read())
        except (aiohttp.ClientError, OSError, TimeoutError, msgspec.MsgspecError):
            # It starts, hangs or has just ended.
            return None

    def _merge(self, got: Mapping[Path, Figures | None], own: Sequence[Family]) -> CollectorRegistry:
        sources: list[list[Family]] = [[family for family in own if family.name in OF_ALL]]
        for socket, figures in got.items():
            last = self._last.get(socket)
            if figures is None:
                sources.append([] if last is None else _counted(last.families))
                continue
            if last is not None and last.process != figures.process:
                self._ended = merge_families([self._ended, _counted(last.families)])
            self._last[socket] = figures
            sources.append(figures.families)
        merged = merge_families([self._ended, *sources])
        shown = [family for family in merged if family.name not in OF_THE_PARENT]
        known_here = [family for family in own if family.name in OF_THE_PARENT]
        return _Snapshot.registry(_metric(family) for family in (*shown, *known_here))


def _counted(families: Iterable[Family]) -> list[Family]:
    return [family for family in families if family.type in _ADDED]


def merge_families(sources: Iterable[Iterable[Family]]) -> list[Family]:
    """Return the families of several sources as one each: counters and histograms added up, gauges as `GAUGES` says."""
    merged: dict[str, tuple[Family, dict[Key, Sample]]] = {}
    for families in sources:
        for family in families:
            if family.name not in merged:
                merged[family.name] = Family(family.name, family.type, family.text, []), {}
            samples = merged[family.name][1]
            for sample in family.samples:
                key = sample.key
                known = samples.get(key)
                samples[key] = sample if known is None else _together(family, known, sample)
    for family, samples in merged.values():
        family.samples = list(samples.values())
    return [family for family, _ in merged.values()]


def _together(family: Family, one: Sample, other: Sample) -> Sample:
    if one.name.endswith("_created"):
        value = min(one.value, other.value)
    elif family.type in _ADDED:
        value = one.value + other.value
    else:
        how = GAUGES.get(family.name, "max")
        value = one.value + other.value if how == "sum" else (min if how == "min" else max)(one.value, other.value)
    exemplars = [sample.exemplar for sample in (one, other) if sample.exemplar is not None]
    return Sample(one.name, one.labels, value, max(exemplars, key=lambda found: found[2], default=None))


def _metric(family: Family) -> Metric:
    metric = Metric(family.name, family.text, family.type)
    for sample in family.samples:
        exemplar = None if sample.exemplar is None else Exemplar(*sample.exemplar)
        metric.add_sample(sample.name, dict(sample.labels), sample.value, exemplar=exemplar)
    return metric
