"""Published methods by name, their ABI items ready for use; the contract that a call goes to, its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from server.contracts.address import checksum_address
from server.contracts.events import CustomError, Event
from server.contracts.interface import Function
from server.errors import InvalidArgument, MethodUnknown, Overloaded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from waypost.v1 import marketplace_pb2

    from server.marketplace.catalogue import Catalogue, Deployment, MethodOperation, PublishedMethod

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
    "page_token": ("cursor", _SEARCHES),
    "page_size": ("page_size", _SEARCHES),
}
# Members that the gateway itself fills in with `latest`: so written they are as good as absent.
_FILLED_IN = frozenset(("height", "to_block"))
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Method:
    """A published method: its function, or its event with the variants that versions of the contract write.

    The first of `events` is the published one, by which filters are read. `errors` are those of the contract's ABI.
    """

    published: PublishedMethod
    function: Function | None
    events: tuple[Event, ...]
    errors: tuple[CustomError, ...]

    @classmethod
    def of(cls, published: PublishedMethod, errors: tuple[CustomError, ...]) -> Method:
        """Return the method with its ABI items parsed; ValueError where one is none."""
        if published.abi_type == "event":
            return cls(published, None, tuple(map(Event.parse, (published.abi_item, *published.variants))), errors)
        return cls(published, Function(published.abi_item), (), errors)

    def explain(self, data: bytes) -> str | None:
        """Return what revert data states by an error of the ABI; None where it uses none of them."""
        return next((words for error in self.errors if (words := error.describe(data)) is not None), None)


class Methods:
    """Every published method. Raises ValueError for an ABI item that cannot be called with."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        errors = {one: _errors(one) for app in catalogue.apps.values() for one in app.deployments}
        self._methods = {
            name: Method.of(method, errors[method.deployment])
            for name, method in catalogue.methods.items()
            if not method.is_overloaded
        }

    def find(self, name: str) -> Method:
        """Return the method of that name.

        Raises:
            MethodUnknown: nothing is published under the name; the message has the nearest that is.
            Overloaded: the ABI has several items of that name.
        """
        method = self._methods.get(name)
        if method is not None:
            return method
        overloaded = self._catalogue.methods.get(name)
        if overloaded is not None:
            raise Overloaded(
                f"{overloaded.abi_name} is overloaded in the ABI of {overloaded.app.app_id}: "
                "the name does not say which of its forms is meant",
                field="method",
            )
        near = self._catalogue.nearest(name)
        hint = f'did you mean "{near}"?' if near else "listMarketplaceMethods lists those that are"
        shown = "".join(character if character.isprintable() else "?" for character in name[:_SHOWN])
        raise MethodUnknown(f'no method "{shown}" is published; {hint}')


def _errors(deployment: Deployment) -> tuple[CustomError, ...]:
    return tuple(CustomError.parse(item) for item in deployment.abi_items if item["type"] == "error")


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
    given = {field.name for field, _ in request.ListFields()}
    for field, (name, operations) in _MEMBERS.items():
        if published.operation in operations or field not in given:
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
