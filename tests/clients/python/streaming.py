"""A gateway whose streams are scripts: each call of one sends the next script's events and ends as that says."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from waypost.v1 import stream_pb2, stream_pb2_grpc

from tests.clients.python.failing import status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.protobuf.message import Message

ADDED = stream_pb2.EVENT_KIND_ADDED
REMOVED = stream_pb2.EVENT_KIND_REMOVED
ROLLED_BACK = stream_pb2.EVENT_KIND_ROLLED_BACK
PROGRESS = stream_pb2.EVENT_KIND_PROGRESS


@dataclass(frozen=True)
class Ending:
    """How a call fails; without a reason it is nothing that the gateway said."""

    code: grpc.StatusCode
    reason: str = ""
    retry_ms: int | None = None


UNAVAILABLE = Ending(grpc.StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", 1)


def block(number: int, kind: Any = ADDED, *, branch: str = "a", cursor: str = "") -> stream_pb2.WatchBlocksResponse:
    """Return an event of a block."""
    event = stream_pb2.WatchBlocksResponse(
        chain="ethereum",
        kind=kind,
        block_number=number,
        block_hash=f"0x{number}{branch}",
        cursor=cursor or f"at-{number}{branch}",
    )
    if kind in (ADDED, REMOVED):
        event.block.number, event.block.hash = number, event.block_hash
    return event


def log(number: int, index: int, kind: Any = ADDED) -> stream_pb2.WatchLogsResponse:
    """Return an event of a log."""
    event = stream_pb2.WatchLogsResponse(kind=kind, block_number=number, block_hash=f"0x{number}")
    event.cursor, event.log.log_index = f"at-{number}-{index}", index
    return event


class Scripted(stream_pb2_grpc.StreamServiceServicer):
    """Plays the scripts, the last one for every further call. A script without an ending stays open."""

    def __init__(self, *scripts: Sequence[Message | Ending | None]) -> None:
        self.scripts = list(scripts)
        self.requests: list[Any] = []
        self.begun, self.ended = threading.Semaphore(0), threading.Semaphore(0)

    def play(self, request: Message, context: grpc.ServicerContext) -> Iterator[Message]:
        """Answer a call; `begun` counts those whose events are sent, `ended` those that are over on this side too."""
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        left = threading.Event()

        def leave() -> None:
            left.set()
            self.ended.release()

        if not context.add_callback(leave):
            leave()
        for step in script:
            if step is None:
                return
            if isinstance(step, Ending):
                if step.reason:
                    details = [] if step.retry_ms is None else [RetryInfo(retry_delay=delay(step.retry_ms))]
                    packed = status(step.code, step.reason, *details)
                    context.set_trailing_metadata((("grpc-status-details-bin", packed),))
                context.abort(step.code, "said so")
            yield step  # type: ignore[misc]  # an ending has left above
        self.begun.release()
        left.wait()

    WatchBlocks = WatchLogs = WatchTransfers = WatchBalances = WatchPrices = WatchReceipt = play  # type: ignore[assignment]


def delay(milliseconds: int) -> Duration:
    found = Duration()
    found.FromMilliseconds(milliseconds)
    return found


@contextmanager
def streaming(scripted: Scripted, address: str = "127.0.0.1:0") -> Iterator[str]:
    """Serve the scripts; yields the address."""
    server = grpc.server(ThreadPoolExecutor(8))
    stream_pb2_grpc.add_StreamServiceServicer_to_server(scripted, server)
    port = server.add_insecure_port(address)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
