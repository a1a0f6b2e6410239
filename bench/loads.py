"""One load on a server that is watched meanwhile: how many requests, how long they took, what they cost it.

The load generator is that of `bench/native`, else those in Python. A question is a template: `ID` stands for a number
that counts up, `ADDRESS` for an address that does.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import orjson
from waypost.v1 import account_pb2, batch_pb2

from bench import grpc_load, http_load
from bench.native import FOLDER
from bench.open_load import poisson

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.protobuf.message import Message

    Watch = Callable[[], Awaitable["Reading"]]

ID = "#"
ADDRESS = "0x" + 40 * "#"
EXECUTE = "/waypost.v1.BatchService/Execute"
CHANNELS = 4
"""Connections of a load over gRPC."""

# Seconds beyond its own that a load may take, and how many requests a second it makes at least where it has a number of
# them to make: on a machine that others use.
_LONGEST, _SLOWEST = 120.0, 100.0


@dataclass(frozen=True)
class Question:
    """What is asked.

    `template` is a body (JSON-RPC) or a message (gRPC, where `method` is its path) of so many `items`; every item of an
    answer over JSON-RPC contains `contained`. Addresses come again after `distinct`, 0 for never.
    """

    template: bytes
    items: int = 1
    method: str = ""
    contained: str = ""
    distinct: int = 0


@dataclass(frozen=True)
class Pace:
    """How it is asked: by so many callers one after the other, or `rate` times a second at independent times.

    It takes `seconds`, or so many `requests`.
    """

    callers: int
    seconds: float
    rate: float = 0.0
    requests: int = 0


class Reading(NamedTuple):
    """What stood on the counters at one moment: seconds of processor time of the server, requests at the node."""

    processor: float
    upstream: int


class Round(NamedTuple):
    """One load: requests, seconds, the median latency (s), bytes of an answer, and what the counters moved."""

    requests: int
    seconds: float
    median: float
    size: int
    processor: float
    upstream: int

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    @property
    def microseconds(self) -> float:
        """Processor time of the server for one request."""
        return self.processor / self.requests * 1e6


async def ask(url: str, question: Question, pace: Pace, watch: Watch, *, key: str, is_native: bool) -> Round:
    """Ask at a URL (`http://host:port` for gRPC) and watch; raise AssertionError where a request fails."""
    run = _ask_natively if is_native else _ask_slowly
    return await run(url, question, pace, watch, key)


async def _ask_natively(url: str, question: Question, pace: Pace, watch: Watch, key: str) -> Round:
    with tempfile.NamedTemporaryFile() as file:
        file.write(question.template)
        file.flush()
        options = {
            "url": url + question.method,
            "body": file.name,
            "connections": pace.callers,
            "grpc": min(CHANNELS, pace.callers) if question.method else 0,
            "key": key,
            "items": question.items,
            "contains": question.contained,
            "distinct": question.distinct,
            "seconds": pace.seconds,
            "rate": pace.rate,
            "requests": pace.requests,
            # What comes again is to be the same from one load to the next.
            "salt": 16 * "1" if question.distinct else secrets.token_hex(8),
        }
        child = await asyncio.create_subprocess_exec(
            str(FOLDER / "load"),
            *(f"-{name}={value}" for name, value in options.items()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            async with asyncio.timeout(_LONGEST + pace.seconds + pace.requests / _SLOWEST):
                if await child.stdout.readline() != b"ready\n":
                    raise AssertionError(f"a request failed: {(await child.stderr.read()).decode().strip()}")
                before = await watch()
                child.stdin.write(b"begin\n")
                line = await child.stdout.readline()
                after = await watch()
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()
    found = orjson.loads(line)
    if found["failed"] or not found["requests"]:
        raise AssertionError(f"{found['failed']} of {found['requests']} requests failed: {found['failure']}")
    return Round(
        found["requests"],
        found["seconds"],
        found["p50"],
        found["bytes"],
        after.processor - before.processor,
        after.upstream - before.upstream,
    )


async def _ask_slowly(url: str, question: Question, pace: Pace, watch: Watch, key: str) -> Round:
    body, seconds = fill(question), pace.seconds
    if pace.requests:
        raise AssertionError("loads of a number of requests need the Go toolchain")
    before = await watch()
    if question.method:
        kind = batch_pb2.ExecuteRequest if question.method == EXECUTE else account_pb2.GetBalanceRequest
        response = batch_pb2.ExecuteResponse if question.method == EXECUTE else account_pb2.GetBalanceResponse

        def message() -> Message:
            return kind.FromString(body())

        metadata = (("x-api-key", key),)
        target = urlsplit(url).netloc
        load = await grpc_load.call(
            target, question.method, message, response, metadata=metadata, tasks=pace.callers, seconds=seconds
        )
    elif pace.rate:
        load = await poisson(url, body, rate=pace.rate, seconds=seconds)
    else:
        load = await http_load.post(url, body, expect=b'"result"', connections=pace.callers, seconds=seconds)
    after = await watch()
    count = len(load.latencies)
    moved = after.processor - before.processor, after.upstream - before.upstream
    return Round(count, count / load.rate, load.median, 0, *moved)


def fill(question: Question) -> Callable[[], bytes]:
    """Return a maker of bodies out of a question's template."""
    salt = 16 * "1" if question.distinct else secrets.token_hex(8)
    ids, numbers = itertools.count(1), itertools.count()

    def number() -> int:
        return next(numbers) % question.distinct if question.distinct else next(numbers)

    def make() -> bytes:
        first, *others = question.template.split(ADDRESS.encode())
        parts = [first, *(f"0x{salt}{number():024x}".encode() + other for other in others)]
        first, *others = b"".join(parts).split(f'"{ID}"'.encode())
        return b"".join([first, *(str(next(ids)).encode() + other for other in others)])

    return make
