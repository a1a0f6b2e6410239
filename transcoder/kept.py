"""Answers that the server keeps, in the same process: given by the raw `params`, without a message in between.

The server's boundary and admission stay in front of each (docs/decisions/0012, 0053): charge, rights, request id and
quota are those of this very request. What is saved are the message, its two serialisations, and printing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from runtime.operations import Operation
    from transcoder.params import Parameters

    Metadata = tuple[tuple[str, str | bytes], ...]

MOST_PARAMS = 4096
"""Largest `params`, in bytes, that an answer is found by."""


class KeptAnswers(Protocol):
    """The server's kept answers, which both faces share; `path` is that of an operation."""

    def keeps_of(self, operation: Operation) -> bool:
        """Return whether answers of the operation may be kept."""
        ...

    def request_of(self, path: str, params: bytes) -> bytes | None:
        """Return the serialised request that these `params` make, where an answer to it is kept; else None."""
        ...

    def printed(self, path: str, request: bytes, response: bytes) -> bytes | None:
        """Return how this very response prints as `result`; None where that is not known."""
        ...

    def keep_printed(self, path: str, params: bytes, request: bytes, response: bytes, result: bytes) -> None:
        """Keep how the response prints, if it is what is kept for the request."""
        ...


class Given(NamedTuple):
    """An answer that was there at once: the bytes of `result`, and the trailing metadata."""

    result: bytes
    metadata: Metadata


class Asked(NamedTuple):
    """A call in progress, whose response is bytes, and what it was asked with."""

    call: Any
    params: bytes
    request: bytes


class KeptMethod:
    """One operation whose answers the server keeps, on an in-process channel."""

    def __init__(self, operation: Operation, channel: Any, kept: KeptAnswers, timeout: float) -> None:
        self._path = operation.path
        self._begin = channel.unary_unary(operation.path).begin
        self._parse = operation.response.FromString
        self._kept = kept
        self._timeout = timeout

    def begin(self, raw: bytes, read: Parameters, render: Callable[[Message], Any], metadata: Any) -> Given | Asked:
        """Return the answer if it is kept and the caller may have it, else the call that was begun.

        Raises Failure for `params` that are no request of the operation, UsageError on a closed channel.
        """
        params = bytes(raw)
        request = self._kept.request_of(self._path, params) if len(params) <= MOST_PARAMS else None
        if request is None:
            request = read(params).SerializeToString()
        begun = self._begin(request, self._timeout, metadata)
        if begun.__class__ is not tuple:
            return Asked(begun, params, request)
        response, trailing = begun
        return Given(self.result(params, request, response, render), trailing)

    def result(self, params: bytes, request: bytes, response: bytes, render: Callable[[Message], Any]) -> Any:
        """Return the response as `result`; printed once while it is kept."""
        result = self._kept.printed(self._path, request, response)
        if result is not None and self._kept.request_of(self._path, params) is not None:
            return result
        if result is None:
            result = render(self._parse(response))
        if result.__class__ is bytes and len(params) <= MOST_PARAMS:
            self._kept.keep_printed(self._path, params, request, response, result)
        return result
