"""Parses the request and serialises the response.

It is a stage, not left to the transport, so that a malformed request and an answer that is too large are answered
like every other failure, and so that an admitted caller is the only one whose bytes are parsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from server.errors import InvalidArgument, ResponseTooLarge

if TYPE_CHECKING:
    from typing import Any

    from server.rpc.stages.state import Context, Method, RequestState, Step

MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
"""Largest messages, on every face (decisions 1.11). The transport refuses a longer request before anything is read."""


class Messages:
    """Turns the caller's bytes into the rpc's request message and the servicer's response into bytes."""

    def __init__(self, max_bytes: int = MAX_RESPONSE_BYTES) -> None:
        self._max_bytes = max_bytes

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner` between the rpc's own parser and serialiser."""
        parse = method.handler.request_deserializer
        serialise = method.handler.response_serializer
        max_bytes = self._max_bytes
        name = method.name

        async def convert(request: bytes, context: Context, state: RequestState) -> Any:
            try:
                message = parse(request)
            except DecodeError:
                raise InvalidArgument(
                    f"the request of {name} is not the message that waypost.v1 defines; regenerate the client's stubs"
                ) from None
            answer = await inner(message, context, state)
            # An answer that was kept is serialised already.
            response: bytes = answer if answer.__class__ is bytes else serialise(answer)
            if len(response) > max_bytes:
                raise ResponseTooLarge(
                    f"the answer of {name} has {len(response)} bytes, at most {max_bytes} fit; ask for less at once"
                )
            return response

        return convert
