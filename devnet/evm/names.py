"""The names of the local ethereum: ENS's registry, resolver and reverse registrar, as published, and records in them.

The contracts are an older release than mainnet's, with the same interface for what is read here; the Universal Resolver
and the resolvers of known_names.py are stand-ins of our own.
"""

from collections.abc import Iterator

from eth_utils.crypto import keccak

from devnet import known, known_names
from devnet.evm.artifacts import original, stand_ins
from devnet.evm.calls import encode_arguments, encode_call, to_hex
from devnet.evm.node import Node
from devnet.evm.placement import Call, Placement

_PORT_SLOT = 0  # of OFFCHAIN_RESOLVER


def name_placements() -> Iterator[Placement]:
    """Yield the contracts, owners' records first."""
    registry = encode_arguments("constructor(address)", [known_names.REGISTRY])
    yield Placement(known_names.REGISTRY, original("ens_registry"), calls=tuple(_registry_calls()))
    yield Placement(known_names.PUBLIC_RESOLVER, original("ens_resolver") + registry, calls=tuple(_address_records()))
    both = encode_arguments("constructor(address,address)", [known_names.REGISTRY, known_names.PUBLIC_RESOLVER])
    yield Placement(known_names.REVERSE_REGISTRAR, original("ens_reverse") + both, calls=tuple(_reverse_records()))
    yield Placement(known_names.UNIVERSAL_RESOLVER, stand_ins()["universal_resolver"])
    yield Placement(known_names.WILDCARD_RESOLVER, stand_ins()["wildcard_resolver"])
    setup = encode_call("initialize(address)", [known_names.INTEGRATION_ADDRESS])
    yield Placement(
        known_names.INTEGRATION_RESOLVER, stand_ins()["wildcard_resolver"], calls=(Call(known.DEVELOPER, setup),)
    )
    signer = encode_call("initialize(address)", [known_names.SIGNER])
    yield Placement(
        known_names.OFFCHAIN_RESOLVER, stand_ins()["offchain_resolver"], calls=(Call(known.DEVELOPER, signer),)
    )


async def set_gateway_port(node: Node, port: int) -> None:
    """Set in OFFCHAIN_RESOLVER the loopback port of its gateway, from the node's newest block on. Raises NodeError."""
    word = to_hex(port.to_bytes(32, "big"))
    await node.call("anvil_setStorageAt", known_names.OFFCHAIN_RESOLVER, hex(_PORT_SLOT), word)


def node_of(name: str) -> bytes:
    """Return the hash (ENSIP-1) of a name exactly as it is written."""
    node = bytes(32)
    for label in reversed(name.split(".")):
        node = keccak(node + keccak(text=label))
    return node


def _resolvers() -> dict[str, str]:
    """Return the resolver of each name that has one."""
    public = dict.fromkeys([*known_names.ADDRESSES, known_names.NO_ADDRESS], known_names.PUBLIC_RESOLVER)
    return (
        public
        | known_names.ODD_RESOLVERS
        | {
            known_names.WILDCARD: known_names.WILDCARD_RESOLVER,
            known_names.INTEGRATION: known_names.INTEGRATION_RESOLVER,
            known_names.OFFCHAIN: known_names.OFFCHAIN_RESOLVER,
        }
    )


def _registry_calls() -> Iterator[Call]:
    """Yield what DEVELOPER, who owns the root, has to do: names from the top down, then their resolvers."""
    resolvers = _resolvers()
    owned: set[str] = set()
    for name in (*resolvers, known_names.NO_RESOLVER, "addr.reverse"):
        labels = name.split(".")
        for depth in range(len(labels) - 1, -1, -1):
            below = ".".join(labels[depth:])
            if below not in owned:
                owned.add(below)
                yield _own(below)
    for name, resolver in resolvers.items():
        yield Call(known.DEVELOPER, encode_call("setResolver(bytes32,address)", [node_of(name), resolver]))


def _own(name: str) -> Call:
    label, _, parent = name.partition(".")
    owner = known_names.REVERSE_REGISTRAR if name == "addr.reverse" else known.DEVELOPER
    node = node_of(parent) if parent else bytes(32)
    return Call(
        known.DEVELOPER, encode_call("setSubnodeOwner(bytes32,bytes32,address)", [node, keccak(text=label), owner])
    )


def _address_records() -> Iterator[Call]:
    for name, address in known_names.ADDRESSES.items():
        yield Call(known.DEVELOPER, encode_call("setAddr(bytes32,address)", [node_of(name), address]))


def _reverse_records() -> Iterator[Call]:
    for account, name in known_names.REVERSE.items():
        yield Call(account, encode_call("setName(string)", [name]))
