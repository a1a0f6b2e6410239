"""What the marketplace publishes: apps, their deployments, and one method per ABI item and deployment."""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from runtime.config_errors import nearest
from server.contracts.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    AbiItem = Mapping[str, Any]
else:
    AbiItem = dict

MethodOperation = Literal["call", "simulateCall", "getLogs"]

# A function's operation by its state mutability.
OPERATION_OF: dict[str, MethodOperation] = {
    "view": "call",
    "pure": "call",
    "nonpayable": "simulateCall",
    "payable": "simulateCall",
}


_MOST_COMPARED = 400


@dataclass(frozen=True, slots=True, eq=False)
class Deployment:
    """A contract of an app: its name, chain slug and checksummed address (both None in a template), and its ABI.

    `abi` is the JSON array as it is answered, `abi_items` the same parsed: items that publish nothing (errors,
    constructors) are in both. `methods` are the published names in the order of the ABI. `alone` are the names of the
    read functions that are never folded: their answers depend on the sender or on the gas that is left.
    """

    name: str
    chain: str | None
    address: str | None
    methods: tuple[str, ...]
    abi: bytes
    abi_items: tuple[AbiItem, ...]
    alone: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class App:
    """A published app. The deployments of a template have neither chain nor address: callers give them."""

    app_id: str
    name: str
    is_template: bool
    deployments: tuple[Deployment, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedMethod:
    """One ABI item of one deployment under the name by which it is called.

    `is_overloaded`: the ABI has several functions (or events) of that name with different inputs; `abi_item` is
    then the first of them, and no call can choose another. `variants` are further items of one event, with the same
    inputs but another number of them indexed, as versions of a contract may differ: they share their first topic and
    are distinguished by the number of topics.
    """

    name: str
    app: App
    deployment: Deployment
    operation: MethodOperation
    abi_item: AbiItem
    is_overloaded: bool = False
    variants: tuple[AbiItem, ...] = ()

    @property
    def abi_name(self) -> str:
        """Name of the function or event."""
        return str(self.abi_item["name"])

    @property
    def runs_alone(self) -> bool:
        """Whether it is a read function that is never folded."""
        return self.abi_name in self.deployment.alone and self.operation == "call"

    @property
    def abi_json(self) -> bytes:
        """The ABI item as JSON."""
        return json.dumps(self.abi_item, separators=(",", ":")).encode()

    @property
    def abi_type(self) -> str:
        """`function` or `event`."""
        return str(self.abi_item["type"])


class Catalogue:
    """The published apps by appId, sorted, and their methods by published name, sorted.

    `chains` are the slugs of the EVM chains, where templates can be called.
    """

    def __init__(self, apps: Iterable[App], methods: Iterable[PublishedMethod], chains: Iterable[str]) -> None:
        self.chains = frozenset(chains)
        self.apps: Mapping[str, App] = {app.app_id: app for app in sorted(apps, key=lambda app: app.app_id)}
        self.methods: Mapping[str, PublishedMethod] = {
            method.name: method for method in sorted(methods, key=lambda method: method.name)
        }
        self._by_lower = {name.lower(): name for name in self.methods}
        self._lower = sorted(self._by_lower)

    def nearest(self, name: str) -> str | None:
        """Return the published name most like `name`, whatever its casing; None when none is near."""
        # Of many names, those that stand about where the wanted one would.
        middle = bisect_left(self._lower, name.lower())
        near = nearest(name, self._lower[max(0, middle - _MOST_COMPARED // 2) :][:_MOST_COMPARED])
        return self._by_lower[near] if near else None


def signature(item: Any) -> str:
    """Return name and canonical input types of a well-formed function or event: `transfer(address,uint256)`."""
    return f"{item['name']}({','.join(map(canonical_type, item['inputs']))})"


def canonical_type(parameter: Any) -> str:
    """Return a well-formed parameter's type as it is hashed: a tuple as its members' types in parentheses."""
    return parse_type(parameter).canonical
