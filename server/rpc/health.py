"""grpc.health.v1 per service and for the whole server (""), needing no key.

The library's own servicer drops all watchers of a service when one leaves, and keeps a stopping server waiting for
watchers; this one ends them once they have read NOT_SERVING.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from server.rpc.stages.state import Context

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class HealthServicer(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # grpc has no types
    """States of the services: all NOT_SERVING until `open`, all again, and for good, from `drain` on."""

    def __init__(self, services: Iterable[str]) -> None:
        self._states = dict.fromkeys(("", *services), NOT_SERVING)
        self._changed = asyncio.Event()
        self._draining = False

    def open(self) -> None:
        """Report every service as SERVING."""
        self._set(SERVING)

    def drain(self) -> None:
        """Report every service as NOT_SERVING and end the watchers."""
        self._draining = True
        self._set(NOT_SERVING)

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        """Return the state of a service; NOT_FOUND for one that is not here, as the protocol has it."""
        state = self._states.get(request.service)
        if state is None:
            context.set_code(grpc.StatusCode.NOT_FOUND)
            context.set_details("no such service here")
            return health_pb2.HealthCheckResponse()
        return health_pb2.HealthCheckResponse(status=state)

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Yield the state of a service now and at every change, until the server drains."""
        reported = None
        while True:
            changed = self._changed
            state = self._states.get(request.service, _UNKNOWN)
            if state != reported:
                # The server may begin to drain before this has been written: look again before leaving.
                reported = state
                yield health_pb2.HealthCheckResponse(status=state)
            elif self._draining:
                return
            else:
                await changed.wait()

    def _set(self, state: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for service in self._states:
            self._states[service] = state
        self._changed.set()
        self._changed = asyncio.Event()
