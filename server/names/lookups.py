"""Off-chain look-ups (EIP-3668): what a contract reverts with to have something fetched, and how the answer goes back.

    OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)

The Universal Resolver packs the requests of resolvers into `query((address,string[],bytes)[])`, to be answered with
`(bool[] failures, bytes[] responses)` (ENSIP-21).

The encoded data comes from strangers: every length and offset is checked against what is there and a bound. A
generic decoder follows whatever offsets it is given: nested arrays that all point to one place decode to far more than
was sent.
"""

from __future__ import annotations

from dataclasses import dataclass

from server.contracts.types import encoder

WORD = 32


def read_number(data: bytes, at: int) -> int:
    """Return the unsigned integer of the word at byte `at`; ValueError where the data ends before."""
    if at < 0 or len(data) < at + WORD:
        raise ValueError("the data ends too early")
    return int.from_bytes(data[at : at + WORD], "big")


def follow(data: bytes, base: int, index: int) -> int:
    """Return where the dynamic value begins whose offset (from `base`) is word `index` of the tuple at `base`.

    Raises ValueError where that is outside of the data.
    """
    at = base + read_number(data, base + WORD * index)
    if at + WORD > len(data):
        raise ValueError("an offset points outside of the data")
    return at


def read_bytes(data: bytes, at: int, most: int) -> bytes:
    """Return the `bytes` or `string` at `at`; ValueError where it is longer than `most` or than the data."""
    size = read_number(data, at)
    start = at + WORD
    if size > most or start + size > len(data):
        raise ValueError("a value is too long")
    return data[start : start + size]


def read_items(data: bytes, at: int, most: int) -> list[int]:
    """Return where the dynamic elements of the array at `at` begin; ValueError for more than `most`."""
    count = read_number(data, at)
    if count > most:
        raise ValueError("an array is too long")
    return [follow(data, at + WORD, index) for index in range(count)]


def read_address(data: bytes, at: int) -> bytes:
    """Return the 20 bytes of the address in the word at `at`; ValueError where the word is no address."""
    number = read_number(data, at)
    if number >> 160:
        raise ValueError("a word is no address")
    return number.to_bytes(20, "big")


LOCAL_BATCH_GATEWAY = "x-batch-gateway:true"
"""The URL in a gateway's place where the requests of a look-up are left to us (ENSIP-21)."""

OFFCHAIN_LOOKUP = bytes.fromhex("556f1830")
QUERY = bytes.fromhex("a780bab6")
HTTP_ERROR = bytes.fromhex("01800152")

_CALLBACK = encoder("bytes", "bytes")
_BATCH_ANSWER = encoder("bool[]", "bytes[]")
_HTTP_ERROR = encoder("uint16", "string")

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
        return self.callback + _CALLBACK((response, self.extra))


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
    return _BATCH_ANSWER((failures, responses))


# With these a gateway states that it has no such record; 401, 403 and 429 are about the client.
_NO_RECORD = frozenset({400, 404, 410, 422})


@dataclass(frozen=True, slots=True)
class HttpError:
    """Why a request has no response, as contracts get it: an HTTP status and a short text."""

    status: int
    message: str

    @property
    def is_absence(self) -> bool:
        """Whether the gateway stated that there is no such record, rather than failed."""
        return self.status in _NO_RECORD

    def encoded(self) -> bytes:
        """Return `HttpError(uint16,string)`."""
        return HTTP_ERROR + _HTTP_ERROR((self.status, self.message))


def read_http_error(revert: bytes) -> HttpError | None:
    """Return the error that a contract passed on by reverting with it (without its text); None for another revert."""
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
