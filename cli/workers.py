"""Several processes on the same ports: started, watched, replaced and ended together.

Signals reach the parent alone. One that dies or hangs is started again (`cli.worker`); the others go on all the while.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.addresses import metrics_listeners, refusal
from cli.faces import RUNTIME_FOLDER, follow
from cli.options import worker_environment
from cli.template import Template, can_fork
from cli.worker import Worker, WorkerCounts
from runtime.config_errors import ConfigError
from runtime.exposition import MergedFigures, start_metrics
from runtime.logs import get_logger
from runtime.metrics import set_workers
from server.access.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from cli.process import Stop
    from runtime.settings import MetricsSettings

_log = get_logger("waypost.workers")


async def run_workers(
    count: int,
    stop: Stop,
    announce: Callable[[], None],
    *,
    config: Path | None,
    content: bytes | None,
    overrides: Mapping[str, Any],
    grace: float,
    control: Callable[[AsyncExitStack, Workers], Awaitable[None]],
    ledger: bool = True,
    metrics: MetricsSettings,
) -> int:
    """Run workers until a stop is asked for; return the exit code, 1 when none of them served at first.

    `announce` is called once, when each of them serves or has failed to; those are tried again. `content` is that of
    the configuration file. `control` then opens, on the stack, what changes them. With `ledger` this process counts
    their quotas. `metrics` states where those of all of them are served. Raises ConfigError where they cannot be.
    """
    async with AsyncExitStack() as stack:
        shared = {}
        if metrics.listen is not None:
            shared[RUNTIME_FOLDER] = await _open_metrics(stack, metrics, metrics.listen, count)
        environment = worker_environment(os.environ, {**overrides, "workers": count}) | shared
        counted = None
        if ledger:
            counted = Ledger(count)
            stack.push_async_callback(counted.close)
        safely = ["-P"] if sys.flags.safe_path else []
        command = [sys.executable, *safely, "-m", "cli", "serve"]
        template = None
        if can_fork():
            template = await Template.start(command, environment)
            stack.push_async_callback(template.close)
        if config is not None:
            command += ["--config", str(config)]
        workers = Workers(
            [
                Worker(number, [*command, "--worker", str(number)], environment, counted, template)
                for number in range(count)
            ]
        )
        workers.content = content
        stack.push_async_callback(workers.end, stop, grace)
        started = await stop.wait_for(workers.start())
        if started is None:
            return 0
        if not started:
            _log.error("no worker came to serve", workers=count)
            return 1
        await control(stack, workers)
        announce()
        await stop.wait_for(workers.keep())
        return 0


async def _open_metrics(stack: AsyncExitStack, metrics: MetricsSettings, listen: str, count: int) -> str:
    """Serve the metrics of all workers for as long as the stack; return the folder in which they give theirs."""
    try:
        # For this user's processes alone.
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="waypost-", ignore_cleanup_errors=True))
    except OSError as error:
        fix = f"workers give their metrics in a folder of temporary files, and none can be made ({error.strerror})"
        raise ConfigError("metrics.listen", listen, f"{fix}: set TMPDIR to one that can be written to") from None
    try:
        figures = MergedFigures(Path(folder), count).read
        runner, _ = await start_metrics(listen, figures, tls=follow(stack, "metrics", metrics.tls))
    except OSError as error:
        raise refusal(metrics_listeners(metrics)[0], error) from None
    stack.push_async_callback(runner.cleanup)
    return folder


class Workers:
    """All the workers; each gets the number of those that serve."""

    def __init__(self, workers: list[Worker]) -> None:
        self._workers = workers
        self.content: bytes | None = None
        """What the configuration file holds for workers that are started; None where they read no file."""
        self.generation = 1
        for worker in workers:
            worker.changed = self._report
            worker.configuration = lambda: (self.generation, self.content)
        set_workers(**asdict(self.counts))

    @property
    def all(self) -> tuple[Worker, ...]:
        """Every worker."""
        return tuple(self._workers)

    def set_configuration(self, content: bytes | None) -> int:
        """Have workers that are started from now on read this content; return the number of its generation."""
        self.content = content
        self.generation += 1
        return self.generation

    @property
    def counts(self) -> WorkerCounts:
        """How many there are, how many serve, how often one was started again."""
        serving = sum(worker.is_serving for worker in self._workers)
        return WorkerCounts(len(self._workers), serving, sum(worker.restarts for worker in self._workers))

    async def start(self) -> bool:
        """Start all of them; return whether one serves."""
        return any(await asyncio.gather(*(worker.start() for worker in self._workers)))

    async def keep(self) -> None:
        """Start each again whenever it dies or hangs; never returns."""
        await asyncio.gather(*(worker.keep() for worker in self._workers))

    async def end(self, stop: Stop, grace: float) -> None:
        """End all of them."""
        await asyncio.gather(*(worker.end(stop, grace) for worker in self._workers))

    def _report(self) -> None:
        counts = self.counts
        set_workers(**asdict(counts))
        line = counts.line()
        for worker in self._workers:
            worker.send(line)
