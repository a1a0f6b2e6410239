"""Callers that ask again and again while a gateway takes leave, and what became of each of their requests."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from runtime.operations import load_operations
from tests.e2e.commands import HEIGHT

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = (("x-api-key", "local"),)


@dataclass
class Tally:
    """`answered` whole; `lost` after they were sent, and how; `refused` are connections."""

    answered: int = 0
    refused: int = 0
    closing: int = 0
    lost: list[str] = field(default_factory=list)


def http_request(body: Any = HEIGHT, path: str = "/local/v1") -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: waypost\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers (names in small letters) and body. Raises IncompleteReadError, ConnectionError."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    return int(head[0].split()[1]), headers, await reader.readexactly(int(headers.get("content-length", "0")))


async def ask_over_http(port: int, tally: Tally) -> None:
    """Ask over one connection after the other, without a pause, until nobody listens any more."""
    request = http_request()
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionError:
            tally.refused += 1
            return
        try:
            while not reader.at_eof():
                writer.write(request)
                status, headers, body = await read_answer(reader)
                assert status == 200, body
                assert b'"result"' in body, body
                tally.answered += 1
                if headers.get("connection") == "close":
                    tally.closing += 1
                    break
        except (asyncio.IncompleteReadError, ConnectionError) as failure:
            tally.lost.append(repr(failure))
        finally:
            writer.close()


class GrpcCaller:
    """Calls getBlockHeight over one channel and counts what the calls end with."""

    def __init__(self, target: str, *options: tuple[str, Any], chain: str = "ethereum") -> None:
        own = ("grpc.use_local_subchannel_pool", 1)
        self.channel = grpc.aio.insecure_channel(target, options=[own, *options])
        self.ended: Counter[str] = Counter()
        operation = next(one for one in load_operations() if one.name == "getBlockHeight")
        self._request = operation.request
        self._chain = chain
        self._call = self.channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )

    async def call(self, chain: str = "") -> bool:
        """Call once; return whether it was answered."""
        try:
            await self._call(self._request(chain=chain or self._chain), metadata=KEY, timeout=20)
        except grpc.aio.AioRpcError as error:
            self.ended[what_it_says(error)] += 1
            return False
        self.ended["OK"] += 1
        return True

    async def call_in_turn(self, stop: Callable[[], bool], chain: str = "") -> None:
        """Call, and when it is answered call again; after a failure a moment later."""
        while not stop():
            if not await self.call(chain):
                await asyncio.sleep(0.002)

    async def call_at_a_rate(self, stop: Callable[[], bool], pause: float = 0.002, chain: str = "") -> None:
        """Call at a rate, whether or not the calls before are answered."""
        calls = set()
        while not stop():
            calls.add(asyncio.create_task(self.call(chain)))
            await asyncio.sleep(pause)
        await asyncio.gather(*calls)


def what_it_says(error: grpc.aio.AioRpcError) -> str:
    """Return the status, the reason where it is the gateway's own, and whether it says when to try again."""
    code = str(error.code().name)
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    if details is None:
        return f"{code} of gRPC"
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for detail in status_pb2.Status.FromString(details).details:
        detail.Unpack(info)
        detail.Unpack(retry)
    return f"{code} {info.reason}" + (" with RetryInfo" if retry.HasField("retry_delay") else "")
