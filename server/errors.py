"""Every failure that the server answers with, as one class tree.

    GatewayError
    ├── InvalidArgument        400  a parameter is missing or malformed
    ├── ChainUnsupported       400  the chain exists but lacks the operation
    ├── NotSupported           400  chain or node cannot do what was asked
    ├── ArchiveRequired        400  the state is older than the nodes keep
    ├── RangeTooLarge          400  block range beyond the operation's window
    ├── ResponseTooLarge       400  answer larger than a message may be
    ├── Reverted               400  the contract call reverted (an answer, not a node failure)
    │   └── OutOfGas           400  it ran out of the gas that the node gives it
    ├── NotAToken              400  no token contract at the address
    ├── NotEnumerable          400  the NFT contract does not list its tokens
    ├── Overloaded             400  several ABI entries of that name
    ├── KeyMissing, KeyInvalid 401
    ├── ChainUnknown           404
    ├── MethodUnknown          404  no method of that name is published
    ├── NotAvailable           404  in the contract, not in this build
    ├── NotFound, Pending      404
    ├── RateLimited            429
    ├── PriceUnavailable       503
    ├── UpstreamUnavailable    503  no configured node answered
    │   ├── TooMuchWork        503  the nodes gave the call up as too slow or too large
    │   └── MovedOn            503  the chain moved on between two reads that belong together
    ├── UpstreamDisagrees      503
    ├── DeadlineExceeded       503
    └── Internal               500

The reason of each class is the text of a `waypost.v1.Reason`; the gRPC status is mapped to the JSON-RPC code by the
transcoder (design section 5). Messages go to callers word for word: they never hold an API key or an endpoint URL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from grpc import StatusCode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self


class NodeWords(NamedTuple):
    """What a node said in its error object, as callers may read it: `data` is JSON, None where it gave none."""

    code: int | None
    message: str
    data: bytes | None


class GatewayError(Exception):
    """A failure with its gRPC status, stable reason and a message that tells the caller what to change.

    `field` names the offending parameter by its JSON name (`params[2].hash` in multi-item operations);
    `retry_after_ms` says when trying again makes sense; `metadata` is added to `google.rpc.ErrorInfo`.
    `node` is what the node itself said, where the caller chose the call; it is passed on.
    `refusals` never leaves the server: what each endpoint said that could not do what was asked, by label.
    """

    status: ClassVar[StatusCode] = StatusCode.INTERNAL
    reason: ClassVar[str] = "INTERNAL"

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        retry_after_ms: int | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.retry_after_ms = retry_after_ms
        self.metadata = metadata or {}
        self.node: NodeWords | None = None
        self.refusals: Mapping[str, GatewayError] = {}

    def __copy__(self) -> Self:
        """Return an equal failure to be raised elsewhere: without traceback, cause and context, sharing no metadata."""
        twin = type(self).__new__(type(self), *self.args)
        vars(twin).update(vars(self))
        twin.metadata = dict(self.metadata)
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


class ChainUnsupported(GatewayError):
    """The chain exists but does not have the operation; the message names the chains that do."""

    status = StatusCode.INVALID_ARGUMENT
    reason = "CHAIN_UNSUPPORTED"


class NotSupported(GatewayError):
    """The chain or its nodes cannot do what was asked."""

    status = StatusCode.FAILED_PRECONDITION
    reason = "NOT_SUPPORTED"


class ArchiveRequired(GatewayError):
    """The state asked for is older than the configured nodes keep."""

    status = StatusCode.FAILED_PRECONDITION
    reason = "ARCHIVE_REQUIRED"


class RangeTooLarge(GatewayError):
    """The block range is larger than the operation's window."""

    status = StatusCode.OUT_OF_RANGE
    reason = "RANGE_TOO_LARGE"


class ResponseTooLarge(GatewayError):
    """The answer is larger than a message may be."""

    status = StatusCode.OUT_OF_RANGE
    reason = "RESPONSE_TOO_LARGE"


class Reverted(GatewayError):
    """The contract call reverted: an answer of the chain, with the decoded reason.

    `payload` is all that it reverted with. It never leaves the server: `metadata` holds a beginning of it.
    """

    status = StatusCode.FAILED_PRECONDITION
    reason = "REVERTED"
    payload: bytes = b""


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


class NotFound(GatewayError):
    """The block, transaction, name or entry does not exist."""

    status = StatusCode.NOT_FOUND
    reason = "NOT_FOUND"


class Pending(GatewayError):
    """The transaction is known but in no block yet."""

    status = StatusCode.NOT_FOUND
    reason = "PENDING"


class RateLimited(GatewayError):
    """The caller's quota is used up."""

    status = StatusCode.RESOURCE_EXHAUSTED
    reason = "RATE_LIMITED"


class PriceUnavailable(GatewayError):
    """No live price is known."""

    status = StatusCode.UNAVAILABLE
    reason = "PRICE_UNAVAILABLE"


class UpstreamUnavailable(GatewayError):
    """No configured node answered."""

    status = StatusCode.UNAVAILABLE
    reason = "UPSTREAM_UNAVAILABLE"


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
