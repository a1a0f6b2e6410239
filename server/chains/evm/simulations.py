"""Calls run as transactions without being sent, through the best interface that the chain's nodes have.

`eth_simulateV1` and the `callTracer` of `debug_traceCall` tell everything that a call would do; `eth_call` with
`eth_estimateGas` tells what it returns and the gas of a success, but no logs. What the nodes have is learnt by asking
them, never configured: an interface is passed over for a while once all of them lack it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from server.chains.capabilities import Simulation
from server.chains.evm.simulation_answers import Ran, parse_simulated_blocks, parse_traced_call
from server.chains.sound_answers import Doubtful
from server.contracts.quantity import json_count, json_data
from server.contracts.reverts import describe_revert, is_revert_payload
from server.errors import GatewayError, InvalidArgument, NotSupported, OutOfGas, Reverted, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from server.chains.capabilities import CallRequest
    from server.chains.evm.calls import CallReader
    from server.chains.evm.heights import Heights
    from server.chains.view import ReadView

LEARNED_SECONDS = 600.0
"""How long an interface that no node of a chain has is not asked for."""


class _Interface(NamedTuple):
    """One way to run a call: the method, its first parameter, those after the block, and how its answer is read."""

    method: str
    first: Callable[[dict[str, Any]], dict[str, Any]]
    options: tuple[object, ...]
    parse: Callable[[bytes], Ran]

    def read(self, result: bytes) -> Ran:
        """Return what the call did; Doubtful for an answer in another shape: a node may know a method by name alone."""
        try:
            return self.parse(result)
        except ValueError:
            raise Doubtful(NotSupported(f"the nodes answer {self.method} in a shape of their own")) from None


# In the order of preference. Transfers of coin are no logs of a contract: `traceTransfers` stays off.
_INTERFACES = (
    _Interface(
        "eth_simulateV1",
        lambda call: {"blockStateCalls": [{"calls": [call]}], "validation": False, "traceTransfers": False},
        (),
        parse_simulated_blocks,
    ),
    _Interface(
        "debug_traceCall",
        lambda call: call,
        ({"tracer": "callTracer", "tracerConfig": {"withLog": True}, "timeout": "20s"},),
        parse_traced_call,
    ),
)
_LACKS = (NotSupported, InvalidArgument)


class Simulator:
    """Simulates on one chain. `clock` in seconds."""

    def __init__(self, calls: CallReader, heights: Heights, clock: Callable[[], float] = time.monotonic) -> None:
        self._calls = calls
        self._heights = heights
        self._clock = clock
        self._lacking: dict[str, float] = {}

    async def simulate_transaction(self, call: CallRequest, view: ReadView) -> Simulation:
        """See `SimulatesTransactions`."""
        return await self._heights.explain(self._simulate(call, view), view, "height")

    async def _simulate(self, call: CallRequest, view: ReadView) -> Simulation:
        params = self._calls.params(call)
        unable: list[str] = []
        for interface in _INTERFACES:
            if self._lacking.get(interface.method, 0.0) > self._clock():
                continue
            try:
                ran = await self._calls.run(
                    interface.method, interface.first(params), view, interface.read, *interface.options
                )
            except _LACKS:
                # BlockAnswer apart from a call that the nodes refuse by its running through another interface.
                unable.append(interface.method)
                continue
            except UpstreamUnavailable:
                continue
            if not ran.succeeded and ran.reason is None:
                ran = ran._replace(reason=await self._ask_why(params, view))
            return self._settle(ran, unable, view)
        return self._settle(await self._call_and_estimate(call, params, view), unable, view)

    def _settle(self, ran: Ran, unable: list[str], view: ReadView) -> Simulation:
        for method in unable:
            self._lacking[method] = self._clock() + LEARNED_SECONDS
        return Simulation(ran.succeeded, ran.data, ran.gas, ran.logs, ran.reason, view.block or 0)

    async def _ask_why(self, params: dict[str, Any], view: ReadView) -> str:
        """Return why a call failed of which this interface told no more than that: a plain call may tell."""
        try:
            await self._calls.run("eth_call", params, view, json_data)
        except Reverted as error:
            return error.message
        except GatewayError:
            pass
        return "the call fails without a reason"

    async def _call_and_estimate(self, call: CallRequest, params: dict[str, Any], view: ReadView) -> Ran:
        """Return what plain calls tell: of a failed one neither gas nor logs, but a failed one writes no logs."""
        try:
            data = await self._calls.run("eth_call", params, view, json_data)
        except Reverted as error:
            if error.data is None and not isinstance(error, OutOfGas):
                # Refused before anything ran: the sender cannot pay, or no node runs such a call.
                raise
            if view.block is None:
                # The failure does not tell its block: the call is run once more, at one that is known.
                await self._calls.settle(view)
                return await self._call_and_estimate(call, params, view)
            return Ran(False, error.data or b"", None, (), error.message)
        if is_revert_payload(data):
            return Ran(False, data, None, (), describe_revert(data))
        try:
            gas = await self._calls.run("eth_estimateGas", params, view, json_count)
        except (Reverted, *_LACKS):
            gas = None
        return Ran(True, data, gas, None, None)
