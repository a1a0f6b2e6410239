"""Functions: read calls, and simulations of those that change state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import marketplace_outcome_pb2

from server.abi.arguments import read_arguments
from server.chains.capabilities import CallRequest, CallsContracts, ReadsCode, SimulatesCalls, SimulatesTransactions
from server.chains.view import read_in_steps
from server.contracts.address import PRECOMPILES, address_bytes
from server.contracts.calls import ContractCall
from server.contracts.reverts import reverted
from server.errors import GatewayError, Reverted
from server.marketplace.values import native, no_contract, read_outputs

if TYPE_CHECKING:
    from waypost.v1 import marketplace_pb2

    from server.abi.functions import Function
    from server.chains.capabilities import Simulation
    from server.chains.registry import Chains
    from server.chains.view import ReadView
    from server.marketplace.methods import Method
    from server.marketplace.targets import Target

# What a read takes at most as a rule, by which executions are bounded; a call that takes more is asked again alone.
_GAS = 150_000
# How the drivers call the parameter `height` of published methods.
_HEIGHTS = frozenset(("blockHeight", "block"))


class Runs:
    """Calls and simulates functions."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def call(
        self, method: Method, target: Target, request: marketplace_pb2.CallMethodRequest, view: ReadView
    ) -> marketplace_outcome_pb2.MarketplaceCall:
        """Return the outputs of a view or pure function; Reverted with the decoded reason where it reverts.

        Errors of the contract's own ABI are told by name and arguments. Folded calls share their gas, and their
        sender is Multicall3: what depends on either is named by the app, and called alone.
        """
        function = _function(method)
        data = function.encode_call(read_arguments(request.args.json))
        as_somebody = request.HasField("from_address") or request.HasField("value")

        async def run(view: ReadView) -> bytes:
            if method.published.runs_alone or as_somebody:
                returned = await self._call_as(target, data, request, view)
            else:
                returned = await self._call_folded(target, data, view)
            await self._require_contract(function, returned, target, view)
            return returned

        try:
            returned = await read_in_steps(view, run)
        except Reverted as error:
            raise _explained(method, error) from None
        except GatewayError as error:
            raise _renamed(error) from None
        outputs = await read_outputs(function, returned, target)
        return marketplace_outcome_pb2.MarketplaceCall(outputs=outputs, block_height=view.block)

    async def simulate(
        self, method: Method, target: Target, request: marketplace_pb2.CallMethodRequest, view: ReadView
    ) -> marketplace_outcome_pb2.MarketplaceSimulation:
        """Return what a function would do; a failure is an outcome with its reason."""
        function = _function(method)
        data = function.encode_call(read_arguments(request.args.json))
        simulator = self._chains.capability(target.chain, SimulatesTransactions)

        async def run(view: ReadView) -> Simulation:
            ran = await simulator.simulate_transaction(_request(target, data, request), view)
            if ran.succeeded:
                await self._require_contract(function, ran.data, target, view)
            return ran

        try:
            ran = await read_in_steps(view, run)
        except GatewayError as error:
            raise _renamed(error) from None
        outputs = await read_outputs(function, ran.data, target) if ran.succeeded else native([])
        statuses = marketplace_outcome_pb2.SimulationStatus
        answer = marketplace_outcome_pb2.MarketplaceSimulation(
            outputs=outputs,
            status=statuses.SIMULATION_STATUS_SUCCESS if ran.succeeded else statuses.SIMULATION_STATUS_FAILURE,
            gas_used=str(ran.gas or 0),
            logs=[
                marketplace_outcome_pb2.SimulatedLog(address=log.address, topics=log.topics, data=log.data)
                for log in ran.logs or ()
            ],
            reason=_reason(method, ran.data) or ran.reason if not ran.succeeded else None,
            block_height=ran.block,
        )
        if ran.gas is None:
            answer.gas_used_available = False
        if ran.logs is None:
            answer.logs_available = False
        return answer

    async def _require_contract(self, function: Function, returned: bytes, target: Target, view: ReadView) -> None:
        """Raise for a call that succeeded where no contract is.

        There, every call succeeds and returns nothing, as a function without outputs does, so that only the code tells
        them apart; and precompiles take any call for their own. Solidity looks at the code before such calls, too.
        """
        if address_bytes(target.address) not in PRECOMPILES:
            if function.outputs or returned:
                return
            reader = self._chains.capability(target.chain, ReadsCode)
            if (await reader.read_code(target.address, view)).code:
                return
        raise no_contract(target, view.block)

    async def _call_folded(self, target: Target, data: bytes, view: ReadView) -> bytes:
        """Call as nobody in particular, together with the reads of other requests."""
        reader = self._chains.capability(target.chain, CallsContracts)
        call = ContractCall(target.address, data, gas=_GAS)
        (outcome,) = await reader.call_contracts([call], view, are_known=target.is_known)
        if not outcome.succeeded:
            raise reverted(outcome.data)
        return outcome.data

    async def _call_as(
        self, target: Target, data: bytes, request: marketplace_pb2.CallMethodRequest, view: ReadView
    ) -> bytes:
        """Call alone, as the sender that the caller named, else as the zero address."""
        reader = self._chains.capability(target.chain, SimulatesCalls)
        result = await reader.simulate_call(_request(target, data, request), view)
        return result.data


def _request(target: Target, data: bytes, request: marketplace_pb2.CallMethodRequest) -> CallRequest:
    return CallRequest(
        to=target.address,
        data="0x" + data.hex(),
        sender=request.from_address if request.HasField("from_address") else None,
        value=int(request.value) if request.HasField("value") else None,
    )


def _reason(method: Method, data: bytes) -> str | None:
    words = method.explain(data)
    return None if words is None else f"execution reverted: {words}"


def _explained(method: Method, error: Reverted) -> Reverted:
    """Return the failure with its reason in the words of the ABI, where it has some."""
    words = _reason(method, error.data or b"")
    return error if words is None else Reverted(words, data=error.data)


def _renamed(error: GatewayError) -> GatewayError:
    """Return the failure with the height under the name that published methods have for it."""
    if error.field in _HEIGHTS:
        error.field = "height"
    return error


def _function(method: Method) -> Function:
    if method.function is None:
        raise TypeError(f"{method.published.name} is no function")
    return method.function
