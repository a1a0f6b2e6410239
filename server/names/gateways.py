"""Asks the off-chain gateways that contracts name (EIP-3668), within a budget and through the guarded fetcher.

The owner of a name chooses its gateways, so a caller chooses them: one request of a caller must not become many of
ours, nor reach what only we can reach.
"""

from __future__ import annotations

import asyncio
import re
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.fetch import FetchError
from server.names.lookups import LOCAL_BATCH_GATEWAY, HttpError, Query, read_batch, write_batch_answer
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from server.fetch import Fetched, GuardedFetcher
    from server.upstream.single_flight import SharedDeadline

MAX_REQUESTS = 16
"""HTTP requests that answering one caller may take, those that fail included."""

MAX_RESPONSE_BYTES = 1 << 20
"""The longest body of one gateway's answer (proofs of storage are long)."""

MAX_TOTAL_BYTES = 4 << 20
"""The most that all gateways together may answer one caller."""

MAX_SECONDS = 10.0
"""How long all off-chain requests of one caller may take together."""

MAX_URL_CHARACTERS = 8192
"""The longest URL with sender and data filled in."""

_SECONDS_EACH = 5.0
_AT_ONCE = 4
_MAX_DEPTH = 2
_LABEL = "an off-chain gateway"
_HEX = re.compile(rb"0x(?:[0-9a-fA-F]{2})*")


class Budget:
    """What is left to one caller's request.

    `failures` counts requests that no gateway answered; `deadline` is in seconds of the monotonic clock.
    """

    def __init__(self, deadline: float | None) -> None:
        longest = monotonic() + MAX_SECONDS
        self.deadline = longest if deadline is None else min(longest, deadline)
        self.failures = 0
        self._requests = MAX_REQUESTS
        self._bytes = MAX_TOTAL_BYTES

    def take_request(self) -> int:
        """Count a request and return how long its answer may be; 0 where nothing may be asked any more."""
        if self._requests <= 0 or monotonic() >= self.deadline:
            return 0
        self._requests -= 1
        return min(MAX_RESPONSE_BYTES, self._bytes)

    def take_bytes(self, count: int) -> None:
        """Count the bytes of an answer."""
        self._bytes = max(0, self._bytes - count)


class _SizedAnswer(NamedTuple):
    """What a gateway answered, or why nothing, and the size of its answer in bytes."""

    answer: bytes | HttpError
    size: int


class _GatewayAnswer(msgspec.Struct):
    data: str


_DECODER = msgspec.json.Decoder(_GatewayAnswer)


class Gateways:
    """Answers requests of contracts. The same request of several callers at once is sent once."""

    def __init__(self, fetcher: GuardedFetcher) -> None:
        self._fetcher = fetcher
        self._in_flight: SingleFlight[_SizedAnswer] = SingleFlight()

    async def ask(self, query: Query, budget: Budget, *, depth: int = 0) -> bytes | HttpError:
        """Return what the first gateway that works answers, or why none does, which counts as a failure in the budget.

        Of a batch every request is asked, and one that fails is a failure inside of the answer.
        """
        if LOCAL_BATCH_GATEWAY in query.urls and depth < _MAX_DEPTH:
            return await self._ask_each(query, budget, depth)
        failure = HttpError(502, "no gateway is named")
        for url in query.urls:
            answer = await self._ask_one(url, query, budget)
            if not isinstance(answer, HttpError):
                return answer
            failure = answer
            # By EIP-3668 a 4xx ends the look-up, anything else is a reason to ask the next gateway.
            if 400 <= failure.status < 500:
                break
        budget.failures += not failure.is_absence
        return failure

    async def _ask_each(self, query: Query, budget: Budget, depth: int) -> bytes | HttpError:
        try:
            queries = read_batch(query.data)
        except ValueError:
            budget.failures += 1
            return HttpError(502, "the batch of requests cannot be read")
        turns = asyncio.Semaphore(_AT_ONCE)

        async def ask(inner: Query) -> bytes | HttpError:
            async with turns:
                return await self.ask(inner, budget, depth=depth + 1)

        return write_batch_answer(await asyncio.gather(*map(ask, queries)))

    async def _ask_one(self, template: str, query: Query, budget: Budget) -> bytes | HttpError:
        most = budget.take_request()
        if not most:
            return HttpError(504, "the look-up asks for too much")
        sender, data = "0x" + query.sender.hex(), "0x" + query.data.hex()
        url = _expand(template, sender, data)
        if url is None:
            return HttpError(502, "the gateway's address is too long")
        body = None if "{data}" in template else msgspec.json.encode({"data": data, "sender": sender})
        until = min(budget.deadline, monotonic() + _SECONDS_EACH)
        try:
            got = await self._in_flight.join(
                (url, body), until, lambda shared: self._fetch(url, body, shared), monotonic
            )
        except TimeoutError:
            return HttpError(504, "the gateway took too long to answer")
        budget.take_bytes(got.size)
        return got.answer if got.size <= most else HttpError(502, "the gateways answer too much")

    async def _fetch(self, url: str, body: bytes | None, deadline: SharedDeadline) -> _SizedAnswer:
        """Ask one URL, for all callers whose look-ups lead there at the same time."""
        try:
            fetched = await self._fetcher.fetch(
                url,
                method="GET" if body is None else "POST",
                body=body,
                accept="application/json",
                max_bytes=MAX_RESPONSE_BYTES,
                deadline=deadline.until,
                label=_LABEL,
            )
        except FetchError as error:
            return _SizedAnswer(HttpError(502, error.message), 0)
        return _SizedAnswer(_read(fetched), len(fetched.body))


def _expand(template: str, sender: str, data: str) -> str | None:
    """Return the URL of a request; None where it would be long: a template may ask for the data hundreds of times."""
    size = len(template) + template.count("{sender}") * len(sender) + template.count("{data}") * len(data)
    if size > MAX_URL_CHARACTERS:
        return None
    return template.replace("{sender}", sender).replace("{data}", data)


def _read(fetched: Fetched) -> bytes | HttpError:
    if not 200 <= fetched.status < 300:
        status = fetched.status if 400 <= fetched.status < 600 else 502
        return HttpError(status, f"the gateway answered with status {fetched.status}")
    try:
        data = _DECODER.decode(fetched.body).data.encode()
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return HttpError(502, "the gateway answered something else than JSON with data")
    if not _HEX.fullmatch(data):
        return HttpError(502, "the gateway answered data that is not hex")
    return bytes.fromhex(data[2:].decode())
