"""Published methods called over both faces, typed and JSON, with a chain that answers by script."""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from waypost.v1 import common_pb2, marketplace_pb2

from server.chains.capabilities.contracts import Simulation
from server.chains.capabilities.logs import ContractLog, EventPage
from server.contracts.calls import ContractOutcome
from server.contracts.reverts import reverted
from server.errors import GatewayError
from server.marketplace.calls import PublishedCalls
from server.marketplace.typed import TypedServices
from server.rpc.marketplace import MarketplaceServicer, answer_call
from server.rpc.pipeline.call import REQUEST, RequestState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from server.marketplace.catalogue import Catalogue

CONTRACT = "0x00000000000000000000000000000000004D6972"
_LONGEST = 4000


class ScriptedChain:
    """Answers every read with what a case says, and keeps what it was asked in `asked`."""

    def __init__(self, node: dict[str, Any]) -> None:
        self.asked: list[Any] = []
        self._node = node
        self._returned = bytes.fromhex(node.get("returned", ""))

    def capability(self, chain: str, kind: type) -> Any:
        return self

    async def call_contracts(self, calls: Any, view: Any, are_known: bool) -> list[ContractOutcome]:
        view.settle(77, None)
        self.asked += [["folded", call.to, call.data.hex(), are_known] for call in calls]
        return [
            ContractOutcome("reverts" not in self._node, bytes.fromhex(self._node.get("reverts", "")) or self._returned)
        ]

    async def simulate_call(self, call: Any, view: Any) -> Any:
        view.settle(77, None)
        self.asked.append(["alone", call.to, call.data, call.sender, call.value])
        if "reverts" in self._node:
            raise reverted(bytes.fromhex(self._node["reverts"]))
        return SimpleNamespace(data=self._returned)

    async def simulate_transaction(self, call: Any, view: Any) -> Simulation:
        view.settle(77, None)
        self.asked.append(["simulated", call.to, call.data, call.sender, call.value])
        if "reverts" in self._node:
            return Simulation(False, bytes.fromhex(self._node["reverts"]), 21_000, None, "execution reverted", 77)
        return Simulation(True, self._returned, None, (), None, 77)

    async def read_code(self, address: str, view: Any) -> Any:
        self.asked.append(["code", address])
        return SimpleNamespace(code=bytes.fromhex(self._node.get("code", "")))

    async def search_events(self, blocks: Any, address: str, topics: Any, view: Any, **bounds: Any) -> EventPage:
        shown = [topic and topic.hex() for topic in topics]
        self.asked.append(["events", address, shown, blocks.from_block, blocks.to_block, blocks.cursor])
        logs = [
            ContractLog(CONTRACT, 70, "0x" + "ab" * 32, index, tuple(map(bytes.fromhex, topics)), bytes.fromhex(data))
            for index, (topics, data) in enumerate(self._node["logs"])
        ]
        kept = tuple(log for log in logs if bounds["keep"](len(log.topics), len(log.data)))
        return EventPage(kept, self._node.get("cursor"))


class Faces:
    """Both faces of the apps of a catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._typed = TypedServices(catalogue)
        self._pool = DescriptorPool()
        for file in self._typed.files:
            self._pool.Add(file)  # type: ignore[no-untyped-call]

    async def typed(self, path: str, request: dict[str, Any] | str, node: dict[str, Any]) -> dict[str, Any]:
        """Return what a typed call asks the chain and answers; the request as protobuf's JSON, or as bytes in hex."""
        chain = ScriptedChain(node)
        handler = self._typed.handlers(partial(answer_call, self._calls(chain)))[path]
        raw = bytes.fromhex(request) if isinstance(request, str) else self._message(path, request).SerializeToString()

        async def call() -> bytes:
            answer = await handler.unary_unary(handler.request_deserializer(raw), None)
            return bytes(handler.response_serializer(answer))

        return await _outcome(chain, call)

    async def plain(self, method: str, params: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
        """Return the same of CallMethod; `args` of the parameters are JSON values."""
        chain = ScriptedChain(node)
        members = {name: value for name, value in params.items() if name != "args"}
        request = ParseDict({"method": method, **members}, marketplace_pb2.CallMethodRequest())
        if "args" in params:
            request.args.CopyFrom(common_pb2.NativeJson(json=json.dumps(params["args"])))
        servicer = MarketplaceServicer(self._catalogue, self._calls(chain))

        async def call() -> bytes:
            return bytes((await servicer.CallMethod(request, None)).SerializeToString(deterministic=True))

        return await _outcome(chain, call)

    def _calls(self, chain: ScriptedChain) -> PublishedCalls:
        return PublishedCalls(self._catalogue, chain)  # type: ignore[arg-type]  # of chains it asks for capabilities

    def _message(self, path: str, request: dict[str, Any]) -> Any:
        package = path[1:].rpartition("/")[0].rpartition(".")[0]
        name = f"{package}.{path.rpartition('/')[2]}Request"
        message = self._pool.FindMessageTypeByName(name)  # type: ignore[no-untyped-call]
        return ParseDict(request, GetMessageClass(message)())


def expand(written: Any) -> Any:
    """Return a value of a case in full: `{"$list": [value, n]}` and `{"$text": [beginning, text, n]}` repeat."""
    if isinstance(written, dict):
        if "$list" in written:
            value, times = written["$list"]
            return [value] * times
        if "$text" in written:
            beginning, text, times = written["$text"]
            return beginning + text * times
        return {name: expand(value) for name, value in written.items()}
    return list(map(expand, written)) if isinstance(written, list) else written


async def _outcome(chain: ScriptedChain, call: Callable[[], Awaitable[bytes]]) -> dict[str, Any]:
    REQUEST.set(RequestState("id", None, 0.0, {}))
    try:
        answer: dict[str, Any] = {"answer": (await call()).hex()}
    except GatewayError as error:
        answer = {"error": [type(error).__name__, error.field, error.message]}
    outcome: dict[str, Any] = _shortened({"asked": chain.asked, **answer})
    return outcome


def _shortened(value: Any) -> Any:
    """Return an outcome with long texts as their length and hash."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{len(value)} characters, sha256 {sha256(value.encode()).hexdigest()}"
    if isinstance(value, dict):
        return {name: _shortened(inner) for name, inner in value.items()}
    return list(map(_shortened, value)) if isinstance(value, list) else value
