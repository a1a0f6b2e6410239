"""Events of streams, as their servicers yield them."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """One event of a stream, serialised once for all who read it.

    `payload` is the response message of the rpc; readers of one source are given the same object. `cursor` is where a
    stream goes on after the event, empty where it cannot.
    """

    payload: bytes
    cursor: str = ""
