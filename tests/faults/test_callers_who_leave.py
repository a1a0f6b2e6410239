"""Callers who share one read of a node and leave before it is answered: the others get their answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from runtime.metrics import REGISTRY
from runtime.operations import load_operations
from tests.faults import simulator as faults
from tests.faults.test_whole_gateway import FRESH, balance_of, gateway_on

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

OPERATIONS = {operation.name: operation for operation in load_operations()}
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"


class Held:
    """Lets a node answer on request."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.release = asyncio.Event()

    async def __call__(self, request: faults.Request) -> None:
        self.arrived.set()
        await self.release.wait()
        await faults.honest(request)


async def in_flight(calls: int) -> None:
    async with asyncio.timeout(20):
        while REGISTRY.get_sample_value("waypost_in_flight") != calls:  # noqa: ASYNC110  # calls come and go unseen
            await asyncio.sleep(0.01)


def begin(gateway: RunningGateway, name: str, timeout: float, **fields: Any) -> Any:
    operation = OPERATIONS[name]
    ask = gateway.channel.unary_unary(
        operation.path,
        request_serializer=operation.request.SerializeToString,
        response_deserializer=operation.response.FromString,
    )
    return ask(operation.request(**fields), metadata=(("x-api-key", "local"),), timeout=timeout)


@pytest.mark.parametrize("name", ["getBalance", "getTokenMetadata"])
async def test_who_asked_first_may_leave_without_taking_the_others_along(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    async with gateway_on(tmp_path, node.url) as gateway:
        # The endpoint has proved what it is.
        assert "result" in await gateway.ask("getBalance", balance_of(next(FRESH)))
        await in_flight(0)
        held = node.fault = Held()
        address = USDC if name == "getTokenMetadata" else next(FRESH)
        first = begin(gateway, name, 20, chain="ethereum", address=address)
        await held.arrived.wait()
        others = [begin(gateway, name, 20, chain="ethereum", address=address) for _ in range(3)]
        await in_flight(4)
        first.cancel()
        await in_flight(3)
        held.release.set()
        answers = await asyncio.gather(*others)
        assert {answer.address.lower() for answer in answers} == {address.lower()}
