"""Published methods by name, their ABI items ready for use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.abi.custom_errors import CustomError
from server.abi.events import Event
from server.abi.functions import Function
from server.errors import MethodUnknown, Overloaded

if TYPE_CHECKING:
    from server.catalog.apps import Catalogue, Deployment, PublishedMethod

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
        return cls(published, Function.parse(published.abi_item), (), errors)

    def explain(self, data: bytes) -> str | None:
        """Return what revert data says by an error of the ABI; None where it says it otherwise."""
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
