"""Published apps and methods as MarketplaceService answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import marketplace_pb2

from runtime.nearest import nearest
from server.catalog.apps import canonical_type
from server.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.catalog.apps import App, Catalogue, PublishedMethod

ABI_TYPES = {
    "function": marketplace_pb2.ABI_TYPE_FUNCTION,
    "event": marketplace_pb2.ABI_TYPE_EVENT,
}


def selected(catalogue: Catalogue, *, chain: str, app_id: str, abi_type: int) -> Iterator[PublishedMethod]:
    """Yield the methods that pass the filters, sorted by name; an empty filter keeps everything.

    A chain keeps what can be called on it: its deployments, and the templates where it is an EVM chain. Raises NotFound
    for an appId that is not published.
    """
    if app_id:
        find_app(catalogue, app_id)
    for method in catalogue.methods.values():
        if app_id and method.app.app_id != app_id:
            continue
        if abi_type and ABI_TYPES[method.abi_type] != abi_type:
            continue
        here = chain in catalogue.chains if method.app.is_template else chain == method.deployment.chain
        if not chain or here:
            yield method


def find_app(catalogue: Catalogue, app_id: str) -> App:
    """Return the app of that appId. Raises NotFound, naming the nearest."""
    app = catalogue.apps.get(app_id)
    if app is None:
        near = nearest(app_id, catalogue.apps)
        advice = f"did you mean `{near}`?" if near else f"apps are: {', '.join(catalogue.apps)}"
        raise NotFound(f"no app with that appId is published; {advice}", field="appId")
    return app


def described(method: PublishedMethod) -> marketplace_pb2.MarketplaceMethod:
    """Return the method as the catalogue answers it."""
    is_event = method.abi_type == "event"
    return marketplace_pb2.MarketplaceMethod(
        method=method.name,
        abi_name=method.abi_name,
        abi_type=ABI_TYPES[method.abi_type],
        params=[
            marketplace_pb2.MarketplaceParam(
                name=parameter.get("name", ""),
                type=canonical_type(parameter),
                indexed=bool(parameter["indexed"]) if is_event else None,  # type: ignore[arg-type]  # None leaves it unset
            )
            for parameter in method.abi_item["inputs"]
        ],
        app_id=method.app.app_id,
        deployment_name=method.deployment.name,
        is_template=method.app.is_template,
        chain=method.deployment.chain,
        address=method.deployment.address,
    )
