"""`make soak`: mixed load on one gateway for minutes, its memory and its tasks sampled; reports whether both stay flat.

The load is of everything that holds memory for a while: single reads and batches of two chains, cached reads, logs,
mistakes, calls that revert, contracts that burn gas or answer a megabyte, callers that hang up, and one of two
endpoints that fails for five seconds in every thirty. It comes in rounds; what is compared is the quiet after each.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import uvloop

from bench.processes import python
from bench.questions import FRESH, USDC, balance_request
from bench.relay import CountingRelay
from devnet import known
from devnet.launcher import Devnet
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

RATE = 100
_ROUNDS = 20
_QUIET_SECONDS = 3.0
_CACHE_BYTES = 8 << 20
# Until caches are full and pools of memory have grown to their size.
_WARM_SHARE = 0.4
_MEGABYTE = 1 << 20
_MEMORY_GROWTH = 1.03
_MEMORY_SLACK = 8 * _MEGABYTE
_TASKS_SLACK = 10


# Of the token reads: those of contracts that burn gas or answer with a megabyte.
_ODD_SHARE = 0.1


class Sample(NamedTuple):
    """One look at the gateway: seconds since the start, resident bytes, tasks of its loop."""

    at: float
    memory: int
    tasks: int


def requests(rng: random.Random) -> list[dict[str, Any]] | dict[str, Any]:
    """Return the next body: one request or a batch."""
    ids = itertools.count(1)

    def request(method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(ids), "method": method, "params": params}

    chain = rng.choice(("ethereum", "polygon"))
    odd = (known.GAS_BURNER, known.REVERT_BOMBER, known.RETURN_BOMBER, known.PROBER)
    token = rng.choice(odd) if rng.random() < _ODD_SHARE else rng.choice((USDC, known.MKR))
    kinds = (
        lambda: balance_request(chain),
        lambda: [balance_request(chain) for _ in range(rng.randint(2, 50))],
        lambda: request("getTokenMetadata", chain="ethereum", address=USDC),
        lambda: request("getTokenBalance", chain="ethereum", address=next(FRESH), token=token),
        lambda: request("getBlockHeight", chain=chain),
        lambda: request("getBlockByNumber", chain=chain, block=rng.randint(26_050_000, 26_050_021)),
        lambda: request("getCode", chain="ethereum", address=next(FRESH)),
        lambda: request("getLogs", chain="ethereum", limit=rng.randint(1, 100)),
        lambda: request("simulateCall", chain="ethereum", to=known.PROBER, data="0x" + rng.randbytes(4).hex()),
        lambda: request("getBalance", chain="nowhere", address="0x0"),
        lambda: request("noSuchMethod" + rng.randbytes(4).hex()),
    )
    weights = (30, 6, 15, 15, 8, 6, 6, 4, 5, 3, 2)
    return rng.choices(kinds, weights)[0]()


async def load(url: str, seconds: float, rng: random.Random, ends: Counter[str]) -> None:
    """Send requests at an even rate, and count how they ended. One caller in fifty hangs up after a moment."""
    running: set[asyncio.Task[None]] = set()

    async def one(body: object, wait_seconds: float) -> None:
        try:
            async with asyncio.timeout(wait_seconds), session.post(url, json=body) as response:
                answer = await response.json()
                answers = answer if isinstance(answer, list) else [answer]
                ends.update("answers" if "result" in item else _describe(item["error"]) for item in answers)
        except TimeoutError:
            ends["hung up"] += 1
        except aiohttp.ClientError as error:
            ends[type(error).__name__] += 1

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256)) as session:
        started = time.monotonic()
        for number in range(int(seconds * RATE)):
            wait = started + number / RATE - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(one(requests(rng), 0.003 if number % 50 == 0 else 30.0))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)


def _describe(error: dict[str, Any]) -> str:
    """Return the code of an error; of one that nodes are to blame for also the words."""
    return str(error["code"]) if error["code"] < 500 else f"{error['code']} ({error['message']})"


async def look(pid: int, metrics: str, at: float) -> Sample:
    """Return what the gateway holds now."""
    pages = _resident_pages(pid)
    async with aiohttp.ClientSession() as session, session.get(metrics) as response:
        lines = (await response.text()).splitlines()
    tasks = next(int(float(line.split()[1])) for line in lines if line.startswith("waypost_tasks "))
    sample = Sample(at, pages * 4096, tasks)
    print(f"  {sample.at:>5.0f} s{sample.memory / _MEGABYTE:>8.1f} MiB{sample.tasks:>7} tasks", flush=True)
    return sample


def _resident_pages(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1])


async def flap(relay: CountingRelay) -> None:
    """Let an endpoint fail for five seconds in every thirty, until cancelled."""
    while True:
        await asyncio.sleep(25)
        relay.is_broken = True
        await asyncio.sleep(5)
        relay.is_broken = False


def judge(samples: Sequence[Sample]) -> bool:
    """Print how the second half of what follows the warm-up compares with the first; return whether it is flat."""
    warm = samples[int(len(samples) * _WARM_SHARE) :]
    half = len(warm) // 2
    memory = [median(sample.memory for sample in part) for part in (warm[:half], warm[half:])]
    tasks = [median(sample.tasks for sample in part) for part in (warm[:half], warm[half:])]
    grows = memory[1] > max(memory[0] * _MEMORY_GROWTH, memory[0] + _MEMORY_SLACK)
    leaks = tasks[1] > tasks[0] + _TASKS_SLACK
    print(f"\n  memory {memory[0] / _MEGABYTE:.1f} -> {memory[1] / _MEGABYTE:.1f} MiB: {'GROWS' if grows else 'flat'}")
    print(f"  tasks  {tasks[0]:.0f} -> {tasks[1]:.0f}: {'LEAK' if leaks else 'flat'}")
    return not grows and not leaks


async def main(minutes: float) -> int:
    """Run the load, print the samples, and return 1 when something grows."""
    http_port, grpc_port, metrics_port = (free_port() for _ in range(3))
    samples: list[Sample] = []
    ends: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        devnet = await stack.enter_async_context(Devnet.start(["ethereum", "polygon"], progress=lambda _: None))
        relay = CountingRelay(devnet.endpoints["ethereum"])
        urls = {"direct": devnet.endpoints["ethereum"], "relay": await relay.start()}
        stack.push_async_callback(relay.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        config = Path(folder) / "waypost.toml"
        endpoints = ", ".join(f'{{ label = "{label}", url = "{url}" }}' for label, url in urls.items())
        config.write_text(
            f'profile = "devnet"\n[http]\nport = {http_port}\n[grpc]\nport = {grpc_port}\n[log]\nlevel = "error"\n'
            f'[metrics]\nlisten = "127.0.0.1:{metrics_port}"\n[cache]\nmax_bytes = {_CACHE_BYTES}\n'
            f"[chains.ethereum]\nhedge = true\nendpoints = [{endpoints}]\n"
            f'[chains.polygon]\nendpoints = [{{ label = "node", url = "{devnet.endpoints["polygon"]}" }}]\n'
        )
        pid = await stack.enter_async_context(python("-m", "cli", "serve", "--config", str(config), port=http_port))
        flapping = asyncio.create_task(flap(relay))
        rng, started = random.Random(7), time.monotonic()
        for _ in range(_ROUNDS):
            await load(f"http://127.0.0.1:{http_port}/local/v1", minutes * 60 / _ROUNDS, rng, ends)
            await asyncio.sleep(_QUIET_SECONDS)
            metrics = f"http://127.0.0.1:{metrics_port}/metrics"
            samples.append(await look(pid, metrics, time.monotonic() - started))
        flapping.cancel()
        with suppress(asyncio.CancelledError):
            await flapping
    print("\n  " + ", ".join(f"{count} {end}" for end, count in ends.most_common()))
    return 0 if judge(samples) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Soak one gateway under mixed load.")
    parser.add_argument("--minutes", type=float, default=10.0)
    sys.exit(uvloop.run(main(parser.parse_args().minutes)))
