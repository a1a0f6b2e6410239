"""Waypost: one typed interface over 24 blockchains. `Waypost` and `AsyncWaypost` are the clients.

Names are imported when they are first used: whoever takes only the stubs (`waypost.v1`) does not load the client.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waypost.aio import AsyncWaypost as AsyncWaypost
    from waypost.client import Waypost as Waypost
    from waypost.errors import TransportError as TransportError
    from waypost.errors import WaypostError as WaypostError
    from waypost.errors import error_of as error_of
    from waypost.generated.reasons import *  # noqa: F403
    from waypost.methods import value_of as value_of
    from waypost.watches import AsyncWatch as AsyncWatch
    from waypost.watches import Watch as Watch

_PLACES = {
    "AsyncWatch": "watches",
    "AsyncWaypost": "aio",
    "Watch": "watches",
    "Waypost": "client",
    "TransportError": "errors",
    "WaypostError": "errors",
    "error_of": "errors",
    "value_of": "methods",
}


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = _PLACES.get(name, "generated.reasons")
    try:
        return getattr(importlib.import_module(f"{__name__}.{place}"), name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    from waypost.generated import reasons

    return sorted({*globals(), *_PLACES, *reasons.__all__})
