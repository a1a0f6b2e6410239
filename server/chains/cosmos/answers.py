"""What nodes of Cosmos SDK chains answer: members of documents, newest blocks, versions."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import common_pb2

from server.chains.view import NewestBlock, NewestCall

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
"""Gas, as text; below 0 there was no limit."""


def members_of(raw: bytes | msgspec.Raw) -> Members:
    """Return the members of a JSON object; msgspec.MsgspecError for anything else."""
    return msgspec.json.decode(raw, type=Members)


def native(raw: bytes | msgspec.Raw) -> common_pb2.NativeJson:
    """Return JSON to be answered as it is."""
    return common_pb2.NativeJson(json=bytes(raw).decode())


def rest_of(members: Mapping[str, msgspec.Raw], typed: Container[str]) -> common_pb2.NativeJson:
    """Return the members that are not typed, as one object."""
    pairs = [b"%b:%b" % (msgspec.json.encode(name), bytes(raw)) for name, raw in members.items() if name not in typed]
    return common_pb2.NativeJson(json=(b"{%b}" % b",".join(pairs)).decode())


def timestamp_of(text: str) -> Timestamp:
    """Return an RFC 3339 time with its nanoseconds; ValueError for anything else."""
    head, dot, fraction = text.removesuffix("Z").partition(".")
    at = datetime.fromisoformat(head if text.endswith("Z") else text).replace(tzinfo=UTC)
    if not text.endswith("Z"):
        raise ValueError("a time without Z")
    nanos = int(fraction.ljust(9, "0")[:9]) if dot else 0
    return Timestamp(seconds=int(at.timestamp()), nanos=nanos)


LATEST = "/cosmos/base/tendermint/v1beta1/blocks/latest"


class _Header(msgspec.Struct):
    height: Height
    time: str
    chain_id: str = ""


class _Block(msgspec.Struct):
    header: _Header


class _Latest(msgspec.Struct):
    block: _Block


def parse_head(result: bytes) -> NewestBlock:
    """Return the head that a latest block states; ValueError for what is none."""
    try:
        header = msgspec.json.decode(result, type=_Latest).block.header
        return NewestBlock(int(header.height), timestamp_of(header.time).seconds)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a block") from None


NEWEST_CALL = NewestCall(LATEST, [], parse_head)


def parse_chain(result: bytes) -> str:
    """Return the id of the chain that a latest block is of; ValueError for what does not state it."""
    try:
        named = msgspec.json.decode(result, type=_Latest).block.header.chain_id
    except (msgspec.MsgspecError, RecursionError):
        named = ""
    if not named:
        raise ValueError("not a block that names its chain")
    return named


_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.|$|[-+])")


class _Application(msgspec.Struct):
    cosmos_sdk_version: str = ""


class _NodeInfo(msgspec.Struct):
    application_version: _Application | None = None


class SdkVersion:
    """The version that the nodes of one chain reported last, in the answer that proves their chain id.

    The nodes of a chain run one version, because every release that matters here changes what they agree on.
    """

    def __init__(self) -> None:
        self.reported: tuple[int, int] | None = None

    def learn(self, node_info: bytes) -> None:
        """Keep the version that a node reports; an answer without one changes nothing."""
        try:
            application = msgspec.json.decode(node_info, type=_NodeInfo).application_version
        except (msgspec.MsgspecError, RecursionError):
            return
        found = None if application is None else _VERSION.match(application.cosmos_sdk_version)
        if found is not None:
            self.reported = int(found[1]), int(found[2])

    def is_before(self, major: int, minor: int) -> bool:
        """Return whether the nodes are known to be older than that; False where nothing is known."""
        return self.reported is not None and self.reported < (major, minor)
