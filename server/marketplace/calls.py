"""Calls of published methods: reads, simulations of what changes state, and pages of decoded logs.

What comes of a call is written into the messages of the face that it came over: their fields have the same names on
both, and the values of the ABI in them are written by the face's `ValueWriter`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from server.chains.capabilities.contracts import (
    CallRequest,
    CallsContracts,
    ReadsCode,
    SimulatesCalls,
    SimulatesTransactions,
)
from server.chains.capabilities.logs import BlockRange, SearchesEvents
from server.chains.view import read_in_steps
from server.contracts.address import PRECOMPILES, address_bytes
from server.contracts.calls import ContractCall
from server.contracts.reverts import reverted
from server.contracts.words import TooManyValues, Undecodable
from server.errors import GatewayError, InvalidArgument, NotSupported, ResponseTooLarge, Reverted
from server.marketplace.methods import Methods, check_members, find_target
from server.marketplace.values import accept_arguments, accept_filters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from waypost.v1 import marketplace_pb2

    from server.chains.capabilities.contracts import Simulation
    from server.chains.capabilities.logs import ContractLog
    from server.chains.registry import Chains
    from server.chains.view import ReadView
    from server.contracts.events import Event
    from server.contracts.interface import Function
    from server.marketplace.catalogue import Catalogue, MethodOperation
    from server.marketplace.methods import Method, Target

LIMIT = 100
"""Most events of a page (decisions section 5.1)."""

MOST_BLOCKS = 10_000
"""Longest window, both of its ends counted (contract section 8)."""

# What a read takes at most as a rule, by which executions are bounded; a call that takes more is repeated alone.
_GAS = 150_000
# How the drivers call the parameter `height` of published methods.
_HEIGHTS = frozenset(("blockHeight", "block"))
# Return data, and data of a page's logs, beyond which values are taken apart beside the event loop.
_LARGE_OUTPUTS = 2048
_LARGE_PAGE = 64 * 1024


class ValueWriter(Protocol):
    """Writes values of the ABI into messages of one face."""

    @property
    def statuses(self) -> tuple[Any, Any]:
        """The statuses of a simulation that failed and of one that succeeded."""
        ...

    def write_outputs(self, answer: Any, values: Sequence[Any] | None) -> None:
        """Set `outputs`; None are those of a simulation that failed."""
        ...

    def write_arguments(self, log: Any, values: Sequence[Any]) -> None:
        """Set `args` of a log."""
        ...


class MethodCall(NamedTuple):
    """A call of a published method; `arguments` are JSON values, of typed messages with bytes as bytes."""

    method: Method
    target: Target
    request: marketplace_pb2.CallMethodRequest
    arguments: Sequence[Any]
    view: ReadView


class PublishedCalls:
    """Calls published methods."""

    def __init__(self, catalogue: Catalogue, chains: Chains) -> None:
        self.methods = Methods(catalogue)
        """Those that can be called; to be replaced as a whole."""
        functions, queries = FunctionCalls(chains), EventQueries(chains)
        self._run: Mapping[MethodOperation, Callable[[MethodCall, Any, ValueWriter], Awaitable[None]]] = {
            "call": functions.call,
            "simulateCall": functions.simulate,
            "getLogs": queries.search,
        }

    def find(self, request: marketplace_pb2.CallMethodRequest) -> tuple[Method, Target]:
        """Return the method that a request names and the contract that it goes to.

        Raises:
            MethodUnknown, Overloaded: see `Methods.find`.
            InvalidArgument: a member of the request that the method does not have, or one that is missing.
        """
        method = self.methods.find(request.method)
        target = find_target(method.published, request)
        check_members(method.published, request)
        return method, target

    async def run(self, call: MethodCall, answer: Any, writer: ValueWriter) -> None:
        """Fill in the outcome message of a face with what came of the call."""
        await self._run[call.method.published.operation](call, answer, writer)


class FunctionCalls:
    """Calls and simulates functions."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def call(self, call: MethodCall, answer: Any, writer: ValueWriter) -> None:
        """Write the outputs of a view or pure function; Reverted with the decoded reason where it reverts.

        Errors of the contract's own ABI are named with their arguments. Folded calls share their gas, and their
        sender is Multicall3: what depends on either is named by the app, and called alone.
        """
        method, target, request, arguments, view = call
        function = _function(method)
        data = _calldata(function, arguments)
        has_sender = request.HasField("from_address") or request.HasField("value")

        async def run(view: ReadView) -> bytes:
            if method.published.runs_alone or has_sender:
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
        await _write_outputs(function, returned, target, answer, writer)
        answer.block_height = view.block

    async def simulate(self, call: MethodCall, answer: Any, writer: ValueWriter) -> None:
        """Write what a function would do; a failure is an outcome with its reason."""
        method, target, request, arguments, view = call
        function = _function(method)
        data = _calldata(function, arguments)
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
        if ran.succeeded:
            await _write_outputs(function, ran.data, target, answer, writer)
        else:
            writer.write_outputs(answer, None)
            reason = _reason(method, ran.data) or ran.reason
            if reason is not None:
                answer.reason = reason
        answer.status = writer.statuses[ran.succeeded]
        answer.gas_used = str(ran.gas or 0)
        for log in ran.logs or ():
            answer.logs.add(address=log.address, topics=log.topics, data=log.data)
        answer.block_height = ran.block
        if ran.gas is None:
            answer.gas_used_available = False
        if ran.logs is None:
            answer.logs_available = False

    async def _require_contract(self, function: Function, returned: bytes, target: Target, view: ReadView) -> None:
        """Raise for a call that succeeded where no contract is.

        There, every call succeeds and returns nothing, as a function without outputs does, so that only the code
        distinguishes them; and precompiles take any call for their own. Solidity looks at the code before such calls,
        too.
        """
        if address_bytes(target.address) not in PRECOMPILES:
            if function.outputs or returned:
                return
            reader = self._chains.capability(target.chain, ReadsCode)
            if (await reader.read_code(target.address, view)).code:
                return
        where = f"there is no contract at {target.address} on {target.chain} at block {view.block}"
        if target.is_known:
            raise NotSupported(f"{where}; at a lower height it may not have been deployed yet")
        raise InvalidArgument(f"address: {where}; is it the right chain?", field="address")

    async def _call_folded(self, target: Target, data: bytes, view: ReadView) -> bytes:
        """Call without a sender of its own, together with the reads of other requests."""
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


class EventQueries:
    """Searches events."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def search(self, call: MethodCall, answer: Any, writer: ValueWriter) -> None:
        """Write one page, newest first. Logs that fit no form of the event are left out.

        By their size they are left out before the page is cut; the few that have the size and still do not decode make
        the page shorter.
        """
        method, target, request, arguments, view = call
        events = method.events
        shapes = tuple((event.topics, event.least_data) for event in events)
        topics = events[0].filter(accept_filters(arguments, events[0]))
        searcher = self._chains.capability(target.chain, SearchesEvents)
        limit = request.page_size or LIMIT
        page = await searcher.search_events(
            BlockRange(
                from_block=request.from_block if request.HasField("from_block") else None,
                to_block=request.to_block if request.HasField("to_block") else None,
                cursor=request.page_token or None,
            ),
            target.address,
            topics,
            view,
            keep=lambda topics, size: any(topics == count and size >= least for count, least in shapes),
            limit=limit,
            most_blocks=MOST_BLOCKS,
        )
        if sum(len(log.data) for log in page.logs) > _LARGE_PAGE:
            await asyncio.to_thread(_write_logs, events, page.logs, answer, writer)
        else:
            _write_logs(events, page.logs, answer, writer)
        answer.count, answer.page_size, answer.has_more = len(answer.logs), limit, page.cursor is not None
        if page.cursor is not None:
            answer.next_page_token = page.cursor


def _write_logs(events: Sequence[Event], logs: Sequence[ContractLog], answer: Any, writer: ValueWriter) -> None:
    for log in logs:
        values = _arguments(events, log)
        if values is not None:
            added = answer.logs.add(
                address=log.address,
                block_number=log.block,
                transaction_hash=log.transaction_hash,
                log_index=log.log_index,
            )
            writer.write_arguments(added, values)


def _arguments(events: Sequence[Event], log: ContractLog) -> Sequence[Any] | None:
    """Return the arguments by the form of the event that has as many topics; None where none fits."""
    for event in events:
        if event.topics == len(log.topics):
            try:
                return event.read(log.topics, log.data)
            except Undecodable:
                continue
    return None


async def _write_outputs(function: Function, data: bytes, target: Target, answer: Any, writer: ValueWriter) -> None:
    """Write the outputs of a call.

    Raises:
        InvalidArgument: the contract that the caller chose answers something else, or nothing, as no contract would.
        NotSupported: so does a published one: it was not there yet, or changed its interface.
        ResponseTooLarge: the data stands for more values than are answered.
    """

    def write() -> None:
        writer.write_outputs(answer, function.decode(data))

    try:
        if len(data) > _LARGE_OUTPUTS:
            await asyncio.to_thread(write)
        else:
            write()
        return
    except TooManyValues:
        raise ResponseTooLarge(f"{function.name} returns more values than one answer holds") from None
    except Undecodable:
        pass
    what = "returns nothing" if not data else "does not return what its ABI says"
    where = f"{function.name} of the contract {what}"
    if target.is_known:
        raise NotSupported(f"{where}; at a lower height it may not have been deployed yet")
    advice = "is there such a contract on this chain?" if not data else "is it a contract of this kind?"
    raise InvalidArgument(f"address: {where}; {advice}", field="address")


def _calldata(function: Function, arguments: Sequence[Any]) -> bytes:
    return function.encode(*accept_arguments(arguments, function.inputs))


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
    """Return the failure with its reason decoded by the ABI, where that has one."""
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
