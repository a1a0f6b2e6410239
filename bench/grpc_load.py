"""Unary gRPC calls from several tasks over a few channels."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import grpc

from bench.http_load import Load

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

CHANNELS = 4


async def call(
    target: str,
    path: str,
    request: Callable[[], Message],
    response: type[Message],
    *,
    metadata: tuple[tuple[str, str], ...],
    tasks: int,
    seconds: float,
) -> Load:
    """Call `path` for `seconds` from `tasks` tasks, each with one call in flight."""
    options = [[("grpc.use_local_subchannel_pool", 1), ("bench.channel", number)] for number in range(CHANNELS)]
    channels = [grpc.aio.insecure_channel(target, options=option) for option in options]
    calls = [
        channel.unary_unary(
            path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )
        for channel in channels
    ]
    latencies: list[float] = []
    started = time.perf_counter()

    async def client(number: int) -> None:
        ask = calls[number % CHANNELS]
        while time.perf_counter() < started + seconds:
            sent = time.perf_counter()
            await ask(request(), metadata=metadata, timeout=30)
            latencies.append(time.perf_counter() - sent)

    await asyncio.gather(*(client(number) for number in range(tasks)))
    elapsed = time.perf_counter() - started
    for channel in channels:
        await channel.close()
    return Load(len(latencies) / elapsed, sorted(latencies))
