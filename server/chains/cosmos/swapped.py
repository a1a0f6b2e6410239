"""Endpoints whose `kind` is that of the other interface of a node: the error names it instead of giving no reason.

An endpoint that does not answer the request for its chain is sent the one of the other kind. If it answers that,
it is configured under the wrong kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.upstream import Pool, RestPool
from server.upstream.attempt import VERIFY_SECONDS
from server.upstream.connector import Answer
from server.upstream.failures import Failure, Kind
from server.upstream.jsonrpc import NodeError
from server.upstream.rest import RestCall, RestConnector

if TYPE_CHECKING:
    from typing import Any

    from server.upstream.connector import Connector
    from server.upstream.endpoint import Endpoint
    from server.upstream.transport import Transport

_NOT_ANSWERED = frozenset({Kind.NOT_JSON_RPC, Kind.HTTP_STATUS})


class NodeInterface(NamedTuple):
    """One interface of a node: the kind of its endpoints, its name, the path that it alone answers to a GET."""

    kind: str
    name: str
    path: str


REST = NodeInterface("rest", "the SDK's REST gateway", "/cosmos/base/tendermint/v1beta1/node_info")
COMET = NodeInterface("comet", "a CometBFT RPC", "/status")


class _Swapped(msgspec.Struct):
    swapped: str = ""


def explain_swapped(result: bytes) -> str | None:
    """Return why an endpoint that the check found to be of the other kind cannot be used; None where it is not."""
    try:
        return msgspec.json.decode(result, type=_Swapped).swapped or None
    except (msgspec.MsgspecError, RecursionError):
        return None


class CosmosRestPool(RestPool):
    """A pool of REST endpoints that recognises those that are a CometBFT RPC."""

    async def _ask_identity(self, endpoint: Endpoint, call: Any, **options: Any) -> Answer:
        answer = await super()._ask_identity(endpoint, call, **options)
        if not _has_no_answer(answer) and not isinstance(answer.outcome, NodeError):
            return answer
        return await _explain(answer, self._connectors[endpoint], REST, COMET)


class CosmosCometPool(Pool):
    """A pool of CometBFT endpoints that recognises those that are a REST gateway."""

    _transport: Transport

    def _open_connector(self, endpoint: Endpoint, transport: Transport) -> Connector[Any]:
        self._transport = transport
        return super()._open_connector(endpoint, transport)

    async def _ask_identity(self, endpoint: Endpoint, call: Any, **options: Any) -> Answer:
        answer = await super()._ask_identity(endpoint, call, **options)
        if not _has_no_answer(answer):
            return answer
        getter = RestConnector(self.chain, endpoint, self._transport, self._observer, self._clock)
        try:
            return await _explain(answer, getter, COMET, REST)
        finally:
            await getter.close()


def _has_no_answer(answer: Answer) -> bool:
    return isinstance(answer.outcome, Failure) and answer.outcome.kind in _NOT_ANSWERED


async def _explain(answer: Answer, getter: Connector[RestCall], wanted: NodeInterface, other: NodeInterface) -> Answer:
    """Return the answer, or one that `explain_swapped` reads where the endpoint answers as the other interface does."""
    found = await getter.submit_alone(RestCall(other.path), VERIFY_SECONDS, "verify")
    if not isinstance(found.outcome, bytes) or not _describes_node(found.outcome):
        return answer
    words = f"is {other.name} and not {wanted.name}: its kind has to be `{other.kind}`"
    return Answer(msgspec.json.encode(_Swapped(words)), answer.exchange)


def _describes_node(body: bytes) -> bool:
    """Return whether an answer describes a node, as both interfaces do in members of their own."""
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        if "result" in members:
            members = msgspec.json.decode(members["result"], type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return "node_info" in members or "default_node_info" in members
