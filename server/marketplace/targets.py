"""Which contract a call goes to, and which parameters it may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.checksum import checksum_address
from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from waypost.v1 import marketplace_pb2

    from server.catalog.apps import MethodOperation, PublishedMethod

LATEST = ("", "latest")

# The members of the request that belong to some operations only: field -> JSON name, and the operations that read it.
_RUNS: tuple[MethodOperation, ...] = ("call", "simulateCall")
_SEARCHES: tuple[MethodOperation, ...] = ("getLogs",)
_MEMBERS: Mapping[str, tuple[str, tuple[MethodOperation, ...]]] = {
    "from_address": ("from", _RUNS),
    "value": ("value", _RUNS),
    "height": ("height", _RUNS),
    "from_block": ("fromBlock", _SEARCHES),
    "to_block": ("toBlock", _SEARCHES),
    "cursor": ("cursor", _SEARCHES),
}
# Members that the gateway itself fills in with `latest`: so written they are as good as absent.
_FILLED_IN = frozenset(("height", "to_block"))


class Target(NamedTuple):
    """A contract: chain slug, checksummed address, and whether the address is the catalogue's own."""

    chain: str
    address: str
    is_known: bool


def find_target(published: PublishedMethod, request: marketplace_pb2.CallMethodRequest) -> Target:
    """Return the contract: that of the method's name, or for a template the one that the caller names.

    Raises:
        InvalidArgument: a template without chain or address, or another method with one.
    """
    deployment = published.deployment
    if deployment.chain is not None and deployment.address is not None:
        for field in ("chain", "address"):
            if request.HasField(field):
                raise InvalidArgument(
                    f"{field} is fixed by the method's name; leave it out, or call a template", field=field
                )
        return Target(deployment.chain, deployment.address, is_known=True)
    for field in ("chain", "address"):
        if not getattr(request, field):
            raise InvalidArgument(f"{field} is required: {published.app.app_id} is a template", field=field)
    return Target(request.chain, checksum_address(request.address), is_known=False)


def check_members(published: PublishedMethod, request: marketplace_pb2.CallMethodRequest) -> None:
    """Raise InvalidArgument for a member that the method's operation does not read."""
    for field, (name, operations) in _MEMBERS.items():
        if published.operation in operations or not request.HasField(field):
            continue
        if field in _FILLED_IN and getattr(request, field) in LATEST:
            continue
        raise InvalidArgument(
            f"{name} means nothing to a method that is {published.operation}; it belongs to {' and '.join(operations)}",
            field=name,
        )


def height_of(request: marketplace_pb2.CallMethodRequest) -> int | None:
    """Return the block to read at, None for the latest."""
    return None if request.height in LATEST else int(request.height)
