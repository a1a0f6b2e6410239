"""Off-chain look-ups (EIP-3668): what a contract reverts with to have something fetched, and how the answer goes back.

    OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)

The Universal Resolver packs the requests of resolvers into `query((address,string[],bytes)[])`, to be answered with
`(bool[] failures, bytes[] responses)` (ENSIP-21).
"""

from __future__ import annotations

from dataclasses import dataclass

from eth_abi.abi import encode

from server.sources.names.words import WORD, follow, read_address, read_bytes, read_items, read_number

OFFCHAIN_LOOKUP = bytes.fromhex("556f1830")
QUERY = bytes.fromhex("a780bab6")
HTTP_ERROR = bytes.fromhex("01800152")

MAX_URLS = 8
"""Gateways of one request that are looked at; a request that names more is refused."""

MAX_QUERIES = 16
"""Requests in one batch."""

MAX_URL_CHARACTERS = 2048
MAX_BYTES = 256 * 1024
"""The most that a contract may have sent to a gateway, or given back to itself, in bytes."""


@dataclass(frozen=True, slots=True)
class Query:
    """One request: the contract that makes it, the templates of its gateways' URLs, what they are asked."""

    sender: bytes
    urls: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Lookup:
    """A look-up: the request, and the function of the contract that takes the answer together with `extra`."""

    query: Query
    callback: bytes
    extra: bytes

    def answer(self, response: bytes) -> bytes:
        """Return the calldata that hands the response to the contract."""
        return self.callback + encode(["bytes", "bytes"], [response, self.extra])


def read_lookup(revert: bytes) -> Lookup | None:
    """Return the look-up that a call reverted with, None for any other revert.

    Raises ValueError for a look-up that cannot be read or is beyond the bounds.
    """
    if revert[:4] != OFFCHAIN_LOOKUP:
        return None
    data = revert[4:]
    extra = read_bytes(data, follow(data, 0, 4), MAX_BYTES)
    return Lookup(_read_query(data, 0), data[3 * WORD : 3 * WORD + 4], extra)


def read_batch(data: bytes) -> list[Query]:
    """Return the requests of a batch; ValueError for calldata that is none, or one beyond the bounds."""
    if data[:4] != QUERY:
        raise ValueError("not a batch of requests")
    data = data[4:]
    if read_number(data, 0) != WORD:
        raise ValueError("not a batch of requests")
    return [_read_query(data, at) for at in read_items(data, WORD, MAX_QUERIES)]


def write_batch_answer(answers: list[bytes | HttpError]) -> bytes:
    """Return the answer to a batch: each request's response, or why it has none."""
    failures = [isinstance(answer, HttpError) for answer in answers]
    responses = [answer.encoded() if isinstance(answer, HttpError) else answer for answer in answers]
    return encode(["bool[]", "bytes[]"], [failures, responses])


# By these a gateway says that it has nothing on what it was asked; by 401, 403 or 429 it says something of who asks.
_NO_RECORD = frozenset({400, 404, 410, 422})


@dataclass(frozen=True, slots=True)
class HttpError:
    """Why a request has no response, as contracts are told: an HTTP status and a few words."""

    status: int
    message: str

    @property
    def is_absence(self) -> bool:
        """Whether the gateway said that there is no such record, rather than failed to say anything."""
        return self.status in _NO_RECORD

    def encoded(self) -> bytes:
        """Return `HttpError(uint16,string)`."""
        return HTTP_ERROR + encode(["uint16", "string"], [self.status, self.message])


def read_http_error(revert: bytes) -> HttpError | None:
    """Return the error that a contract passed on by reverting with it (without its words); None for another revert."""
    if revert[:4] != HTTP_ERROR:
        return None
    try:
        return HttpError(read_number(revert, 4), "")
    except ValueError:
        return None


def _read_query(data: bytes, base: int) -> Query:
    """Return the request `(address, string[], bytes, ...)` whose tuple begins at `base`."""
    urls = read_items(data, follow(data, base, 1), MAX_URLS)
    return Query(
        sender=read_address(data, base),
        urls=tuple(read_bytes(data, at, MAX_URL_CHARACTERS).decode() for at in urls),
        data=read_bytes(data, follow(data, base, 2), MAX_BYTES),
    )
