"""The states of grpc.health.v1 as watchers read them."""

from __future__ import annotations

from typing import Any

import pytest
from grpc_health.v1 import health_pb2

from server.rpc.unauthenticated import NOT_SERVING, SERVING, HealthServicer

UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
CONTEXT: Any = None


@pytest.mark.parametrize("service", ["", "waypost.v1.BlockService"])
async def test_a_server_that_drains_while_a_state_is_written_reports_it_all_the_same(service: str) -> None:
    servicer = HealthServicer(["waypost.v1.BlockService"])
    servicer.open()
    states = servicer.Watch(health_pb2.HealthCheckRequest(service=service), CONTEXT)
    assert (await anext(states)).status == SERVING
    servicer.drain()
    assert [state.status async for state in states] == [NOT_SERVING]


async def test_a_watcher_of_an_unknown_service_is_let_go() -> None:
    servicer = HealthServicer(())
    states = servicer.Watch(health_pb2.HealthCheckRequest(service="nothing"), CONTEXT)
    assert (await anext(states)).status == UNKNOWN
    servicer.drain()
    assert [state.status async for state in states] == []
