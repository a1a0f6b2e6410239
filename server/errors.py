"""Every failure that the server answers with, as one class tree.

    GatewayError
    ├── InvalidArgument        400  a parameter is missing or malformed
    ├── BodyTooLarge           400  the request is longer than its operation can need
    ├── ChainUnsupported       400  the chain exists but lacks the operation
    ├── NotSupported           400  chain or node cannot do what was asked
    │   ├── VersionRefused     400  the nodes refuse that version of transactions
    │   ├── ContractMissing    400  there is no contract at the address
    │   └── EntryPointMissing  400  the contract has no such function
    ├── ArchiveRequired        400  the state is older than the nodes keep
    ├── RangeTooLarge          400  block range beyond the operation's window
    ├── ResponseTooLarge       400  answer larger than a message may be
    ├── Reverted               400  the contract call reverted (an answer, not a node failure)
    │   └── OutOfGas           400  it ran out of the gas that the node gives it
    ├── NotAToken              400  no token contract at the address
    ├── NotEnumerable          400  the NFT contract does not list its tokens
    ├── Overloaded             400  several ABI entries of that name
    ├── CursorTooOld           400  a stream cannot go on there any more
    ├── KeyMissing, KeyInvalid 401
    ├── KeyNotAllowed          401  the key may not call that operation or read that chain
    ├── ChainUnknown           404
    ├── MethodUnknown          404  no method of that name is published
    ├── NotAvailable           404  in the contract, not in this build
    ├── NotFound, Pending      404
    │   └── HeightMissing      404  the chain has no block of that height, or not yet
    ├── RateLimited            429
    ├── SlowConsumer           429  the reader of a stream is slower than its events
    ├── PriceUnavailable       503
    ├── UpstreamUnavailable    503  no configured node answered
    │   ├── TooMuchWork        503  the nodes gave the call up as too slow or too large
    │   └── MovedOn            503  the chain moved on between two reads that belong together
    ├── UpstreamDisagrees      503
    ├── DeadlineExceeded       503
    └── Internal               500

The reason of each class is the text of a `waypost.v1.Reason`; the gRPC status is mapped to the JSON-RPC code by the
transcoder (design section 5). Messages go to callers word for word: they never hold an API key or an endpoint URL.
What an error brings besides is typed, in fields of its class; `rpc/pipeline/errors.py` writes them for callers.
"""

from __future__ import annotations

import dataclasses
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from grpc import StatusCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self


class NodeWords(NamedTuple):
    """What a node wrote in its error object, as callers may read it: `data` is JSON, None where it gave none.

    `is_refusal`: the error is about the call, and not about how the node is. `status` is the HTTP status of a REST
    endpoint, whose whole answer `data` is then, 0 otherwise. `whole` returns the same without cuts, of
    so many bytes: `size`.
    """

    code: int | None
    message: str
    data: bytes | None
    is_refusal: bool = True
    status: int = 0
    whole: Callable[[], NodeWords] | None = None
    size: int = 0


RangeHint = Literal["window", "blocks", "results"]


class RangeAdvice(NamedTuple):
    """What a node's refusal of a range reveals about the ranges that it would answer.

    `hint` is what it names: `window` a range that would work, `blocks` the most blocks of one question, `results` an
    answer too large, so that any fewer blocks may do. `blocks` is the number that it amounts to, where it names one.
    """

    hint: RangeHint
    blocks: int | None


@dataclass(eq=False, repr=False)
class GatewayError(Exception):
    """A failure with its gRPC status, stable reason and a message that states what the caller can change.

    `field` names the offending parameter by its JSON name (`params[2].hash` in multi-item operations);
    `retry_after_ms` states when trying again makes sense. `node` is what the node itself answered, where the caller
    chose the call; it is passed on. `cursor` is where a stream that ends so can go on. `refusals` never leaves the
    server: the text of each endpoint that could not do what was requested, by label.
    """

    status: ClassVar[StatusCode] = StatusCode.INTERNAL
    reason: ClassVar[str] = "INTERNAL"

    message: str
    _: KW_ONLY
    field: str | None = None
    retry_after_ms: int | None = None
    node: NodeWords | None = dataclasses.field(default=None, init=False)
    cursor: str | None = dataclasses.field(default=None, init=False)
    refusals: Mapping[str, GatewayError] = dataclasses.field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __copy__(self) -> Self:
        """Return an equal failure to be raised elsewhere: without traceback, cause and context."""
        twin = type(self).__new__(type(self), *self.args)
        vars(twin).update(vars(self))
        return twin


def release(failure: BaseException) -> None:
    """Take the traceback, cause and context off a failure that was answered and is held on.

    They hold every frame on its way with all that it has read; where one of these holds the failure in turn, that would
    wait for the garbage collector.
    """
    failure.__traceback__ = failure.__context__ = failure.__cause__ = None


class InvalidArgument(GatewayError):
    """A parameter is missing or malformed."""

    status = StatusCode.INVALID_ARGUMENT
    reason = "INVALID_ARGUMENT"


class BodyTooLarge(GatewayError):
    """The request is longer than its operation, or its caller, may write."""

    status = StatusCode.INVALID_ARGUMENT
    reason = "BODY_TOO_LARGE"


class ChainUnsupported(GatewayError):
    """The chain exists but does not have the operation; the message names the chains that do."""

    status = StatusCode.INVALID_ARGUMENT
    reason = "CHAIN_UNSUPPORTED"


class NotSupported(GatewayError):
    """The chain or its nodes cannot do what was requested."""

    status = StatusCode.FAILED_PRECONDITION
    reason = "NOT_SUPPORTED"


@dataclass(eq=False, repr=False, kw_only=True)
class VersionRefused(NotSupported):
    """The nodes refuse that version of transactions; `version` is the one that they name."""

    version: int | None = None


class ContractMissing(NotSupported):
    """There is no contract at the address."""


class EntryPointMissing(NotSupported):
    """The contract has no entry point of that name."""


@dataclass(eq=False, repr=False, kw_only=True)
class ArchiveRequired(GatewayError):
    """The requested state is older than the nodes keep; `oldest_block` is the oldest that they have, where known."""

    status = StatusCode.FAILED_PRECONDITION
    reason = "ARCHIVE_REQUIRED"

    oldest_block: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class RangeTooLarge(GatewayError):
    """The block range is larger than the operation's window of `most_blocks`, or than a node answers (`advice`)."""

    status = StatusCode.OUT_OF_RANGE
    reason = "RANGE_TOO_LARGE"

    most_blocks: int | None = None
    advice: RangeAdvice | None = None


class ResponseTooLarge(GatewayError):
    """The answer is larger than a message may be."""

    status = StatusCode.OUT_OF_RANGE
    reason = "RESPONSE_TOO_LARGE"


@dataclass(eq=False, repr=False, kw_only=True)
class Reverted(GatewayError):
    """The contract call reverted: an answer of the chain, with the decoded reason.

    `data` is all that it reverted with, empty where it gave nothing or the node does not report it; None where no
    contract reverted: the call ran out of gas, its sender cannot pay, or the nodes refuse it in words of their own.
    """

    status = StatusCode.FAILED_PRECONDITION
    reason = "REVERTED"

    data: bytes | None = None


class OutOfGas(Reverted):
    """The call ran out of gas, its own or that of the neighbours it was folded with."""


class NotAToken(GatewayError):
    """The address holds no token contract."""

    status = StatusCode.FAILED_PRECONDITION
    reason = "NOT_A_TOKEN"


class NotEnumerable(GatewayError):
    """The NFT contract does not list its tokens."""

    status = StatusCode.FAILED_PRECONDITION
    reason = "NOT_ENUMERABLE"


class Overloaded(GatewayError):
    """The ABI has several functions or events of that name."""

    status = StatusCode.INVALID_ARGUMENT
    reason = "OVERLOADED"


class KeyMissing(GatewayError):
    """No API key was given."""

    status = StatusCode.UNAUTHENTICATED
    reason = "KEY_MISSING"


class KeyInvalid(GatewayError):
    """The API key is malformed, unknown or revoked."""

    status = StatusCode.UNAUTHENTICATED
    reason = "KEY_INVALID"


class KeyNotAllowed(GatewayError):
    """The key is good, but may not call the operation or read the chain; the message says what it may."""

    status = StatusCode.PERMISSION_DENIED
    reason = "KEY_NOT_ALLOWED"


class ChainUnknown(GatewayError):
    """No chain has that slug."""

    status = StatusCode.NOT_FOUND
    reason = "CHAIN_UNKNOWN"


class MethodUnknown(GatewayError):
    """No contract method is published under that name; the message names the nearest."""

    status = StatusCode.NOT_FOUND
    reason = "METHOD_UNKNOWN"


class NotAvailable(GatewayError):
    """The contract has the operation, this build does not (for that chain family)."""

    status = StatusCode.UNIMPLEMENTED
    reason = "NOT_AVAILABLE"


@dataclass(eq=False, repr=False, kw_only=True)
class NotFound(GatewayError):
    """The block, transaction, name or entry does not exist.

    `head` is the newest block, where that decides; `endpoints_asked` how many endpoints reported that it is missing.
    """

    status = StatusCode.NOT_FOUND
    reason = "NOT_FOUND"

    endpoints_asked: int | None = None
    head: int | None = None


class HeightMissing(NotFound):
    """The chain has no block of that height, or not yet."""


class Pending(GatewayError):
    """The transaction is known but in no block yet."""

    status = StatusCode.NOT_FOUND
    reason = "PENDING"


class RateLimited(GatewayError):
    """The caller's quota is used up."""

    status = StatusCode.RESOURCE_EXHAUSTED
    reason = "RATE_LIMITED"


class SlowConsumer(GatewayError):
    """The reader of a stream is slower than its events, of which the oldest are gone."""

    status = StatusCode.RESOURCE_EXHAUSTED
    reason = "SLOW_CONSUMER"


@dataclass(eq=False, repr=False, kw_only=True)
class CursorTooOld(GatewayError):
    """A stream cannot go on at its cursor; `oldest_block` is the oldest block that can be had."""

    status = StatusCode.OUT_OF_RANGE
    reason = "CURSOR_TOO_OLD"

    oldest_block: int


class PriceUnavailable(GatewayError):
    """No live price is known."""

    status = StatusCode.UNAVAILABLE
    reason = "PRICE_UNAVAILABLE"


@dataclass(eq=False, repr=False, kw_only=True)
class UpstreamUnavailable(GatewayError):
    """No configured node answered; with `is_unsound` some did, with what cannot be the answer."""

    status = StatusCode.UNAVAILABLE
    reason = "UPSTREAM_UNAVAILABLE"

    is_unsound: bool = False


class TooMuchWork(UpstreamUnavailable):
    """The nodes gave the call up because of its size or duration: less of it may work."""


class MovedOn(UpstreamUnavailable):
    """The chain moved on, or replaced the block, while it was read: no block is that of the whole answer."""


class UpstreamDisagrees(GatewayError):
    """The configured nodes contradict each other."""

    status = StatusCode.UNAVAILABLE
    reason = "UPSTREAM_DISAGREES"


class DeadlineExceeded(GatewayError):
    """The deadline passed before an answer was there."""

    status = StatusCode.DEADLINE_EXCEEDED
    reason = "DEADLINE_EXCEEDED"


class Internal(GatewayError):
    """A defect of the gateway."""
