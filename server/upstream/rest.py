"""REST endpoints on the engine of `Pool`: GET and POST, answered by a body in JSON or plain text.

Selection, breakers, next endpoints, deadlines, joining, heads and metrics are the pool's; only how a call is written
and how its answer is read differs. An HTTP error with a body is a node error: `code` and `message` of a JSON object
(the gateway of the Cosmos SDK), with its `errorCode` as the data (Jupiter), else the text itself (Esplora), judged with
its status by the family's `ErrorTable`.

A request may be conditional (RFC 9110 section 13): with the validators of an earlier answer it asks for the body only
if that has changed.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from server.upstream.connector import PLAIN, Answer, CallPolicy, Reply
from server.upstream.failures import Failure, Kind
from server.upstream.jsonrpc import LONGEST_WHOLE, NodeError, describe_text, is_utf8
from server.upstream.pool import Pool
from server.upstream.transport import Exchange, HttpConnector, explain_status

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from runtime.tracing import Asker
    from server.upstream.connector import Payload
    from server.upstream.endpoint import Endpoint
    from server.upstream.http import HttpAnswer
    from server.upstream.jsonrpc import Outcome
    from server.upstream.transport import Observer, Purpose, Transport

Pairs = tuple[tuple[str, str], ...]


class Validators(NamedTuple):
    """What an endpoint identified a body by, with its number; another may use the same for another body."""

    endpoint: int
    etag: str = ""
    modified: str = ""


class RestCall(msgspec.Struct, frozen=True, cache_hash=True):
    """One request: the path below the endpoint's URL, query and headers in their order, how its answer is read.

    With a `body` it is a POST, whose content type is among the headers. Plain text is answered where it `is_text`.
    """

    path: str
    query: Pairs = ()
    headers: Pairs = ()
    is_text: bool = False
    body: bytes | None = None
    validators: Validators | None = None


class _Refusal(msgspec.Struct):
    code: int | None = None
    message: str | None = None
    error: str | None = None
    error_code: msgspec.Raw | msgspec.UnsetType = msgspec.field(name="errorCode", default=msgspec.UNSET)


_refusal = msgspec.json.Decoder(_Refusal)
_json = msgspec.json.Decoder(msgspec.Raw)

JSON_BODY = "application/json"
NOT_MODIFIED = b""
"""The `result` of a conditional request whose body has not changed: no JSON is empty."""

_UNCHANGED = 304
_ETAG = re.compile(r'(W/)?"[\x21\x23-\x7e]{0,1024}"')
_DATE = re.compile(r"[A-Za-z0-9,: +-]{1,64}")


def validators_of(reply: Reply) -> Validators | None:
    """Return the validators of a reply for a conditional request, None where its endpoint gave none."""
    etag, modified = reply.headers.get("etag", ""), reply.headers.get("last-modified", "")
    found = Validators(
        reply.number, etag if _ETAG.fullmatch(etag) else "", modified if _DATE.fullmatch(modified) else ""
    )
    return found if found.etag or found.modified else None


class RestPool(Pool):
    """The REST endpoints of one chain and kind.

    `HeadQuery` and `IdentityCheck` name a path as their method and (name, value) pairs of the query as their params;
    so does `call`.
    """

    async def get(
        self,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        headers: Sequence[tuple[str, str]] = (),
        policy: CallPolicy = PLAIN,
        *,
        name: str,
        is_text: bool = False,
        validators: Validators | None = None,
        deadline: float | None = None,
    ) -> Reply:
        """Return the answer of one endpoint to a GET: body in `result`, headers (names in lower case) in `headers`.

        `path` starts with a slash and is not percent-encoded; `name` is the route without its arguments, by which
        endpoints are known to have it or not. The body is JSON unless `is_text`. With the `validators` of an earlier
        answer in JSON, `result` is `NOT_MODIFIED` where their endpoint reports the body unchanged; any other
        endpoint sends it whole. Raises as `call` does.
        """
        call = RestCall(path, tuple(query), tuple(headers), is_text, None, validators)
        return await self._ask(name, call, policy, deadline)

    async def post(
        self,
        path: str,
        body: bytes,
        headers: Sequence[tuple[str, str]] = (),
        policy: CallPolicy = PLAIN,
        *,
        name: str,
        query: Sequence[tuple[str, str]] = (),
        content_type: str = JSON_BODY,
        validators: Validators | None = None,
        deadline: float | None = None,
    ) -> Reply:
        """Return the answer of one endpoint to a POST of `body`, in JSON; see `get`.

        It has to be a read: like every call it may be sent again, and to several endpoints.
        """
        own = (("Content-Type", content_type), *headers)
        call = RestCall(path, tuple(query), own, body=body, validators=validators)
        return await self._ask(name, call, policy, deadline)

    def _open_connector(self, endpoint: Endpoint, transport: Transport) -> RestConnector:
        return RestConnector(self.chain, endpoint, transport, self._observer, self._clock)

    @staticmethod
    def _encode(method: str, params: Sequence[Any]) -> RestCall:
        return RestCall(method, tuple((name, value) for name, value in params))


class RestConnector(HttpConnector):
    """Sends the requests of one REST endpoint, each by itself."""

    def __init__(
        self,
        chain: str,
        endpoint: Endpoint,
        transport: Transport,
        observer: Observer,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(chain, endpoint, transport, observer, clock)
        self._sending: set[asyncio.Task[Answer]] = set()
        self._given_up: dict[asyncio.Task[Answer], Failure] = {}

    async def submit(
        self, call: RestCall, timeout: float, *, held: bool = False, is_last: bool = False, asker: Asker | None = None
    ) -> Answer:
        """Return the answer to a cheap call; holding it back would gain nothing."""
        return await self._start(self._answer(call, timeout, "call", asker))

    async def submit_alone(
        self, payload: Payload[RestCall], timeout: float, purpose: Purpose = "heavy", asker: Asker | None = None
    ) -> Answer:
        """Return the answer to a call; of a bundle its bodies, or the first that is no body."""
        if isinstance(payload, RestCall):
            return await self._start(self._answer(payload, timeout, purpose, asker))
        return await self._start(self._bundle(payload, timeout, purpose, asker))

    def give_up(self, failure: Failure) -> None:
        """End every call in flight with this failure."""
        for task in self._sending:
            self._given_up[task] = failure
            task.cancel()

    async def close(self) -> None:
        """Cancel what is in flight."""
        tasks = list(self._sending)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _start(self, sending: Coroutine[None, None, Answer]) -> Answer:
        task = asyncio.get_running_loop().create_task(sending)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        try:
            return await task
        except asyncio.CancelledError:
            failure = self._given_up.get(task)
            current = asyncio.current_task()
            if failure is None or (current is not None and current.cancelling()):
                raise
            return Answer(failure, Exchange(self._clock()))
        finally:
            self._given_up.pop(task, None)

    async def _bundle(self, calls: Sequence[RestCall], timeout: float, purpose: Purpose, asker: Asker | None) -> Answer:
        until = self._clock() + timeout
        bodies: list[bytes] = []
        answer = Answer((), Exchange(self._clock()))
        for call in calls:
            answer = await self._answer(call, until - self._clock(), purpose, asker)
            if not isinstance(answer.outcome, bytes):
                return answer
            bodies.append(answer.outcome)
        return Answer(tuple(bodies), answer.exchange)

    async def _answer(self, call: RestCall, timeout: float, purpose: Purpose, asker: Asker | None) -> Answer:
        exchange = Exchange(self._clock(), (asker,))
        address, headers = self._endpoint.address, call.headers
        known = call.validators
        is_conditional = known is not None and known.endpoint == self._endpoint.number
        if known is not None and is_conditional:
            headers = (*headers, *_conditions(known))
        if call.body is None:
            request = address.get(call.path, call.query, headers)
        else:
            request = address.post_below(call.path, call.query, headers, call.body)
        got = await self._exchange(exchange, request, timeout, purpose)
        if isinstance(got, Failure):
            return Answer(got, exchange)
        if is_conditional and got.status == _UNCHANGED:
            return Answer(NOT_MODIFIED, exchange)
        return Answer(_read(got, is_text=call.is_text), exchange)


def _conditions(validators: Validators) -> Iterator[tuple[str, str]]:
    if validators.etag:
        yield "If-None-Match", validators.etag
    if validators.modified:
        yield "If-Modified-Since", validators.modified


def _read(got: HttpAnswer, *, is_text: bool) -> Outcome:
    if got.status == 200:
        return _text(got) if is_text else _whole(got)
    if not is_utf8(got.body):
        return _text_refusal(got)
    try:
        refusal = _refusal.decode(got.body)
    except (msgspec.MsgspecError, RecursionError):
        return _text_refusal(got)
    data = None if refusal.error_code is msgspec.UNSET else bytes(refusal.error_code)
    body = got.body if len(got.body) <= LONGEST_WHOLE else b""
    return NodeError(refusal.code, describe_text(refusal.message or refusal.error or ""), data, body, got.status)


def _text(got: HttpAnswer) -> Outcome:
    if got.body.lstrip().startswith(b"<"):
        return Failure(Kind.NOT_JSON_RPC, "a web page instead of an answer")
    return got.body


def _whole(got: HttpAnswer) -> Outcome:
    if not is_utf8(got.body):
        return Failure(Kind.NOT_JSON_RPC, "an answer that is not UTF-8")
    try:
        _json.decode(got.body)
    except msgspec.MsgspecError:
        return Failure(Kind.NOT_JSON_RPC, "an answer that is not JSON")
    except RecursionError:
        # As deep as that is for its reader to judge.
        return got.body
    return got.body


def _text_refusal(got: HttpAnswer) -> Outcome:
    text = got.body[:2048].decode(errors="replace").strip()
    if not text or text.startswith("<"):
        return explain_status(Failure(Kind.NOT_JSON_RPC, "a web page instead of an answer"), got)
    return NodeError(None, describe_text(text), None, status=got.status)
