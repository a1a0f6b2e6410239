"""A node's answer as a number or as bytes; what is neither is the node's fault, not the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.evm.quantity import json_count, json_data
from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from server.upstream.policy import Reply


def number_of(reply: Reply) -> int:
    """Return the count (of blocks, of gas) that the node answered; UpstreamUnavailable where it is none."""
    try:
        return json_count(reply.result)
    except ValueError:
        raise UpstreamUnavailable(f"endpoint {reply.endpoint} answered with a malformed number") from None


def data_of(reply: Reply) -> bytes:
    """Return the hex bytes that the node answered; UpstreamUnavailable where it answered none."""
    try:
        return json_data(reply.result)
    except ValueError:
        raise UpstreamUnavailable(f"endpoint {reply.endpoint} answered with malformed data") from None
