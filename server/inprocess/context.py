"""The servicer's side of a call over the in-process channel, and the syntax of metadata in gRPC's HTTP/2 mapping."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from contextvars import ContextVar
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import grpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    Entries = tuple[tuple[str, str | bytes], ...]
    # Takes a serialised request; returns the serialised response, or what to call in the call's own task for it.
    Beginning = Callable[[bytes, Any], bytes | Callable[[], Awaitable[bytes]]]

TRUSTED: ContextVar[bool] = ContextVar("waypost_trusted", default=False)
"""True within calls that came over the in-process channel, and nowhere else."""
ONE_REQUEST = "the in-process channel carries calls of one request only; streams of requests (reflection) need a socket"
ONE_RESPONSE = "this call is answered with one message"

_WANTED = "trailing metadata is a sequence of (text, text or bytes) tuples"
_legal_key = re.compile(r"[0-9a-z_.-]+").fullmatch
_legal_text = re.compile(r"[\x20-\x7e]*").fullmatch
# Keys found legal, of text values: both faces send the same few with every call.
_known_keys: set[str] = set()
_MOST_KNOWN = 256
_log = logging.getLogger(__name__)


def received(metadata: Iterable[tuple[str, str | bytes]] | None) -> Entries:
    """Return the metadata as the other side receives it: bytes under `-bin` keys, text under all others.

    Raises TypeError for entries that are not pairs of text and text or bytes, and ValueError for keys with other
    characters than `[0-9a-z_.-]` and for text outside of printable ASCII.
    """
    if not metadata:
        return ()
    entries: list[tuple[str, str | bytes]] = []
    for key, value in metadata:
        # Every call comes by here a few times: what both faces send with each is recognised without parsing.
        if key in _known_keys and value.__class__ is str and value.isascii() and value.isprintable():
            entries.append((key, value))
        else:
            entries.append(_received(key, value))
    return tuple(entries)


class ReceivedMetadata(grpc.aio.Metadata):  # type: ignore[misc]  # grpc has no types
    """The metadata of an answer. It becomes a mapping when it is used as one, which callers that go through it do not.

    Entries come as in gRPC's own: those of one key together, where its first one stands.
    """

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    @cached_property
    def _metadata(self) -> OrderedDict[str, list[str | bytes]]:
        mapping: OrderedDict[str, list[str | bytes]] = OrderedDict()
        for key, value in self._entries:
            mapping.setdefault(key, []).append(value)
        return mapping

    def __iter__(self) -> Iterator[tuple[str, str | bytes]]:
        """Go through the entries."""
        is_mapping = "_metadata" in self.__dict__ or len({key for key, _ in self._entries}) < len(self._entries)
        found: Iterator[tuple[str, str | bytes]] = super().__iter__() if is_mapping else iter(self._entries)
        return found

    def __add__(self, other: object) -> grpc.aio.Metadata:
        """Return what gRPC's own returns."""
        return grpc.aio.Metadata(*self) + other


def check_types(metadata: object) -> None:
    """Raise TypeError unless the metadata is an iterable of (text, text or bytes) tuples; keys may be illegal still."""
    if isinstance(metadata, dict) or not hasattr(metadata, "__iter__"):
        raise TypeError(_WANTED)
    for entry in metadata:
        # What the gateway itself sends with every answer, before what else is allowed.
        if entry.__class__ is tuple and len(entry) == 2 and entry[0].__class__ is entry[1].__class__ is str:
            continue
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise TypeError(_WANTED)
        if not isinstance(entry[0], str) or not isinstance(entry[1], str | bytes):
            raise TypeError(_WANTED)


def _received(key: str, value: str | bytes) -> tuple[str, str | bytes]:
    if not isinstance(key, str):
        raise TypeError(f"metadata keys are text, not {type(key).__name__}")
    if not _legal_key(key):
        raise ValueError(f"metadata key {key!r} is not made of 0-9 a-z _ . -")
    if key.endswith("-bin"):
        if not isinstance(value, bytes):
            raise TypeError(f"metadata {key} holds bytes, not {type(value).__name__}")
        return key, value
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str):
        raise TypeError(f"metadata {key} holds text, not {type(value).__name__}")
    if not _legal_text(value):
        raise ValueError(f"metadata {key} holds more than printable ASCII; name it {key}-bin and give bytes")
    if len(_known_keys) < _MOST_KNOWN:
        _known_keys.add(key)
    return key, value


class TakesMessages(Protocol):
    """The caller's side of a stream."""

    def begin(self, initial: Entries) -> None:
        """Take the initial metadata."""
        ...

    async def put(self, message: Any, initial: Entries | None) -> None:
        """Take a message, with the initial metadata where there are any; return when it was read."""
        ...


class InProcessContext(grpc.aio.ServicerContext[Any, Any]):  # type: ignore[misc]  # grpc has no types
    """What the servicer reads and sets; `InProcessCall` reads the outcome from it."""

    __slots__ = (
        "_deadline",
        "_invocation",
        "aborted",
        "callbacks",
        "finished",
        "initial",
        "made",
        "status",
        "stream",
        "text",
        "trailing",
    )

    def __init__(self, invocation: Entries, deadline: float | None) -> None:
        self._invocation = invocation
        self._deadline = deadline
        self.callbacks: list[Callable[[Any], None]] | None = None
        self.initial: Entries | None = None
        self.trailing: Any = ()
        self.made: Callable[[], Entries] | None = None
        self.status: grpc.StatusCode | None = None
        self.text = ""
        self.aborted: grpc.aio.AbortError | None = None
        self.finished = False
        self.stream: TakesMessages | None = None

    async def read(self) -> Any:
        """Refuse: there are no streams of requests in process."""
        raise grpc.aio.UsageError(ONE_REQUEST)

    async def write(self, message: Any) -> None:
        """Send a message of a stream; return when its reader has taken it. UsageError for other calls."""
        self._check_running()
        if self.stream is None:
            raise grpc.aio.UsageError(ONE_RESPONSE)
        await self.stream.put(message, self.initial)

    async def send_initial_metadata(self, initial_metadata: Any) -> None:
        """Send initial metadata; UsageError the second time, and after the end of the call."""
        self._check_running()
        if self.initial is not None:
            raise grpc.aio.UsageError("Send initial metadata failed: already sent")
        try:
            self.initial = received(initial_metadata)
        except (TypeError, ValueError):
            # A socket ends the call with this status; so does the call that finds it.
            self.status, self.text = grpc.StatusCode.INTERNAL, "Invalid metadata"
            self.aborted = grpc.aio.AbortError("Invalid metadata")
            raise self.aborted from None
        if self.stream is not None:
            self.stream.begin(self.initial)

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Any = ()) -> NoReturn:
        """End the call with a status other than OK; always raises."""
        if self.aborted is not None:
            raise grpc.aio.UsageError("Abort already called!")
        self.aborted = grpc.aio.AbortError("Locally aborted.")
        if trailing_metadata or not (self.trailing or self.made):
            self.made = None
            check_types(trailing_metadata)
            self.trailing = tuple(trailing_metadata)
        self.status = code if isinstance(code, grpc.StatusCode) else grpc.StatusCode.UNKNOWN
        self.text = details or self.text
        raise self.aborted

    async def abort_with_status(self, status: grpc.Status) -> NoReturn:
        """End the call with the given status; always raises."""
        await self.abort(status.code, status.details, status.trailing_metadata)

    def set_trailing_metadata(self, trailing_metadata: Any) -> None:
        """Set what is sent with the status."""
        check_types(trailing_metadata)
        self.trailing = tuple(trailing_metadata)
        self.made = None

    def set_trailing_maker(self, make: Callable[[], Entries]) -> None:
        """Set what makes the metadata that is sent with the status, if they are read; such as `received` returns."""
        self.made = make

    def invocation_metadata(self) -> Any:
        """Return the caller's metadata."""
        return self._invocation

    def set_code(self, code: grpc.StatusCode) -> None:
        """Set the status of a call that returns; with one other than OK its response is dropped."""
        self.status = code

    def set_details(self, details: str) -> None:
        """Set the text of the status."""
        self.text = details

    def set_compression(self, compression: grpc.Compression) -> None:
        """Do nothing: nothing is compressed in process."""

    def disable_next_message_compression(self) -> None:
        """Do nothing: nothing is compressed in process."""

    def peer(self) -> str:
        """Return `inproc:`; the caller is this process."""
        return "inproc:"

    def peer_identities(self) -> Iterable[bytes] | None:
        """Return None: calls in process are not authenticated by the transport."""
        return None

    def peer_identity_key(self) -> str | None:
        """Return None: calls in process are not authenticated by the transport."""
        return None

    def auth_context(self) -> Mapping[str, Iterable[bytes]]:
        """Return an empty mapping: calls in process are not authenticated by the transport."""
        return {}

    def time_remaining(self) -> Any:
        """Return the seconds left to the caller's deadline, at least 0; None when it set none."""
        return None if self._deadline is None else max(0.0, self._deadline - monotonic())

    def trailing_metadata(self) -> Any:
        """Return the trailing metadata set so far."""
        return self.trailing if self.made is None else self.made()

    def code(self) -> Any:
        """Return the status set so far, None at first."""
        return self.status

    def details(self) -> str:
        """Return the text set so far."""
        return self.text

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Call back with this context once the servicer has ended."""
        if self.callbacks is None:
            self.callbacks = []
        self.callbacks.append(callback)

    def cancelled(self) -> bool:
        """Return whether the servicer set CANCELLED as the status, as grpc.aio has it."""
        return self.status is grpc.StatusCode.CANCELLED

    def done(self) -> bool:
        """Return whether the call has its status."""
        return self.finished or self.aborted is not None

    def finish(self) -> None:
        """Mark the end of the servicer and run the callbacks; one that fails is logged."""
        self.finished = True
        if self.aborted is not None:
            # Its frames hold this context, which holds it.
            self.aborted.__traceback__ = self.aborted.__context__ = None
        for callback in self.callbacks or ():
            try:
                callback(self)
            except Exception:
                _log.exception("a done callback failed")

    def _check_running(self) -> None:
        if self.aborted is not None:
            raise self.aborted
        if self.finished:
            raise grpc.aio.UsageError("RPC already finished.")


async def serve(handler: grpc.RpcMethodHandler[Any, Any], request: bytes, context: InProcessContext) -> Any:
    """Return the handler's serialised response; whatever it returned where that is no answer."""
    parse, serialise = handler.request_deserializer, handler.response_serializer
    response = await handler.unary_unary(parse(request) if parse else request, context)
    is_answer = serialise is not None and context.aborted is None and context.status in (None, grpc.StatusCode.OK)
    return serialise(response) if is_answer else response
