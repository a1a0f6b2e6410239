"""JSON objects of nodes, taken apart into members that keep the node's own bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import common_pb2

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

Members = dict[str, msgspec.Raw]

Digits = Annotated[str, msgspec.Meta(pattern=r"\A[0-9]{1,78}\Z")]
"""An amount in base units: nodes write integers as text."""

Height = Annotated[str, msgspec.Meta(pattern=r"\A[0-9]{1,18}\Z")]
"""A block's height, as text."""

Fraction = Annotated[str, msgspec.Meta(pattern=r"\A-?[0-9]{1,78}(\.[0-9]{1,18})?\Z")]
"""Shares, rates and rewards: decimal text of 18 places at most."""

Gas = Annotated[str, msgspec.Meta(pattern=r"\A-?[0-9]{1,19}\Z")]
"""Gas, as text; below 0 it says that there was no limit."""


def members_of(raw: bytes | msgspec.Raw) -> Members:
    """Return the members of a JSON object; msgspec.MsgspecError for anything else."""
    return msgspec.json.decode(raw, type=Members)


def native(raw: bytes | msgspec.Raw) -> common_pb2.NativeJson:
    """Return JSON to be answered as it is."""
    return common_pb2.NativeJson(json=bytes(raw))


def rest_of(members: Mapping[str, msgspec.Raw], typed: Container[str]) -> common_pb2.NativeJson:
    """Return the members that are not typed, as one object."""
    pairs = [b"%b:%b" % (msgspec.json.encode(name), bytes(raw)) for name, raw in members.items() if name not in typed]
    return common_pb2.NativeJson(json=b"{%b}" % b",".join(pairs))


def timestamp_of(text: str) -> Timestamp:
    """Return an RFC 3339 time with its nanoseconds; ValueError for anything else."""
    head, dot, fraction = text.removesuffix("Z").partition(".")
    at = datetime.fromisoformat(head if text.endswith("Z") else text).replace(tzinfo=UTC)
    if not text.endswith("Z"):
        raise ValueError("a time without Z")
    nanos = int(fraction.ljust(9, "0")[:9]) if dot else 0
    return Timestamp(seconds=int(at.timestamp()), nanos=nanos)
