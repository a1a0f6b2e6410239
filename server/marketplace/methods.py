"""Published methods by name, their ABI items ready for use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.abi.events import Event
from server.abi.functions import Function
from server.errors import MethodUnknown, Overloaded

if TYPE_CHECKING:
    from server.catalog.apps import Catalogue, PublishedMethod

_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Method:
    """A published method: its function, or its event with the variants that versions of the contract write.

    The first of `events` is the published one, by which filters are read.
    """

    published: PublishedMethod
    function: Function | None
    events: tuple[Event, ...]

    @classmethod
    def of(cls, published: PublishedMethod) -> Method:
        """Return the method with its ABI items parsed; ValueError where one is none."""
        if published.abi_type == "event":
            return cls(published, None, tuple(map(Event.parse, (published.abi_item, *published.variants))))
        return cls(published, Function.parse(published.abi_item), ())


class Methods:
    """Every published method. Raises ValueError for an ABI item that cannot be called with."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._methods = {
            name: Method.of(method) for name, method in catalogue.methods.items() if not method.is_overloaded
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
