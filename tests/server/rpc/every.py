"""Questions to every operation, generated from the descriptors: one that is written right, and the ways to spoil it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from waypost.options.v1 import options_pb2

from devnet import known, known_bitcoin, known_cosmos, known_solana, known_starknet
from devnet.cosmos.world import CHAINS as COSMOS
from devnet.cosmos.world import address as cosmos_address
from runtime.operations import Operation, load_operations, member
from server.chains.facts import load_facts
from server.rpc.pipeline.formats import is_repeated
from tests.e2e.questions.question import with_enum_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message

OPERATIONS = load_operations()
WORKING = [operation for operation in OPERATIONS if operation.available]
FAMILIES = {facts.slug: facts.family for facts in load_facts().values()}
SLUGS = {family: next(slug for slug in FAMILIES if FAMILIES[slug] == family) for family in FAMILIES.values()}
"""The first chain of each family."""

# An operation whose name is a pattern, by one of the names that it stands for.
PUBLISHED = {"svc_*": "svc_erc20_erc20api_call_balanceOf"}

_USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
_HASH = "ab" * 32
ADDRESSES = {
    "evm": known.VITALIK,
    "solana": str(known_solana.ALICE),
    "bitcoin": known_bitcoin.P2WPKH,
    "starknet": known_starknet.ALICE,
    "cosmos": cosmos_address(COSMOS["cosmoshub"], known_cosmos.ALICE),
}
TOKENS = {"evm": _USDC, "solana": str(known_solana.USDC), "starknet": known_starknet.STRK, "cosmos": "uatom"}
HASHES = {
    "evm": "0x" + _HASH,
    "solana": "5" * 88,
    "bitcoin": _HASH,
    "starknet": "0x" + _HASH[:62],
    "cosmos": _HASH.upper(),
}


_PAGES = frozenset({"page_size", "page_token"})
_BLOCKS = frozenset({options_pb2.FORMAT_BLOCK, options_pb2.FORMAT_HEX_BLOCK})
_INTEGERS = frozenset(
    {
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    }
)
# Longer than any text may be: the longest that a parameter takes is calldata of a quarter of a megabyte.
_LONG = "0x" + "ab" * 200_000


def fields_of(operation: Operation) -> list[FieldDescriptor]:
    """Return the parameters of both faces: the request's fields, or for a multi-item operation those of one item."""
    message = operation.method.input_type
    fields = message.fields_by_name["items"].message_type.fields if operation.takes_items else message.fields
    return [field for field in fields if not member(field).grpc_only]


def right(operation: Operation, family: str) -> dict[str, Any]:
    """Return the required parameters (of one item) as the documents' examples have them, in the family's writing."""
    return {field.json_name: value_for(field, family) for field in fields_of(operation) if member(field).required}


def value_for(field: FieldDescriptor, family: str) -> Any:
    """Return an example value of a parameter in the family's writing."""
    options = member(field)
    if options.format == options_pb2.FORMAT_CHAIN:
        return SLUGS[family]
    if options.format == options_pb2.FORMAT_ADDRESS:
        table = TOKENS if field.name == "token" or "oken contract" in options.example else ADDRESSES
        return table.get(family, ADDRESSES[family])
    if options.format == options_pb2.FORMAT_HASH:
        return HASHES[family]
    return json.loads(options.example)


def family_of(operation: Operation) -> str:
    """Return a family for which the operation answers, `evm` for one that takes no chain or any."""
    answered = [family for family in SLUGS if family in operation.available]
    return answered[0] if answered else "evm"


def chain_of(operation: Operation, family: str) -> str:
    """Return a chain of the family that has the operation."""
    return next(slug for slug in FAMILIES if FAMILIES[slug] == family and has(operation, slug))


def has(operation: Operation, slug: str) -> bool:
    """Return whether the contract gives the operation to the chain."""
    return FAMILIES[slug] in operation.families and (not operation.chains or slug in operation.chains)


def params_of(operation: Operation, members: dict[str, Any]) -> Any:
    """Return the members as JSON-RPC `params`."""
    return [members] if operation.takes_items else members


def path_of(operation: Operation, name: str) -> str:
    """Return how errors name a parameter."""
    return f"params[0].{name}" if operation.takes_items else name


def chain_field(operation: Operation) -> FieldDescriptor | None:
    """Return the parameter for a chain's slug, or for a list of them; None where there is none."""
    return next((one for one in fields_of(operation) if member(one).format == options_pb2.FORMAT_CHAIN), None)


def chain_members(operation: Operation, slug: str) -> dict[str, Any]:
    """Return the parameter that names the chain; nothing for an operation that takes none."""
    field = chain_field(operation)
    return {} if field is None else {field.json_name: [slug] if is_repeated(field) else slug}


def chain_path(operation: Operation) -> str:
    """Return how errors name the chain that `chain_members` gives."""
    field = chain_field(operation)
    assert field is not None
    return path_of(operation, field.json_name) + ("[0]" if is_repeated(field) else "")


def page_names(operation: Operation) -> dict[str, str]:
    """Return the names of the parameters of pages in messages, with those that JSON has for them."""
    fields = operation.method.input_type.fields
    return {one.name: one.json_name for one in fields if one.name in _PAGES and not member(one).grpc_only}


def is_block(field: FieldDescriptor) -> bool:
    """Return whether the field is an integer in messages, and in JSON a block in digits of its own or `latest`."""
    return member(field).format in _BLOCKS


def unset_is_zero(field: FieldDescriptor) -> bool:
    """Return whether messages do not distinguish a number that is not given from 0; JSON does."""
    return is_integer(field) and not field.has_presence


def is_integer(field: FieldDescriptor) -> bool:
    """Return whether the field is one whole number."""
    return not is_repeated(field) and field.cpp_type in _INTEGERS


def message_of(operation: Operation, members: dict[str, Any]) -> Message:
    """Return the members as a request message, through protobuf's own JSON reader."""
    whole = {"items": [members]} if operation.takes_items else with_enum_names(members, operation)
    return ParseDict(whole, operation.request())


def texts(operation: Operation) -> Iterator[tuple[FieldDescriptor, Any]]:
    """Yield every text parameter with a value that is longer than any text may be."""
    for field in fields_of(operation):
        if field.cpp_type == FieldDescriptor.CPPTYPE_STRING and field.type != FieldDescriptor.TYPE_BYTES:
            yield field, [_LONG] if is_repeated(field) else _LONG


# What is right in no format; each is of the right JSON type.
NONSENSE = ("no such thing!", "0x", "0xzz", "-1", "é" * 40, "a b", "\x00", "1e3", "../../etc/passwd")
_FORMS = frozenset(options_pb2.Format.values()) - {
    options_pb2.FORMAT_UNSPECIFIED,
    options_pb2.FORMAT_CHAIN,  # its own test
    options_pb2.FORMAT_HEX_DATA,  # "0x" is no data
    options_pb2.FORMAT_CURSOR,  # opaque: some of these are
}


def malformed(operation: Operation) -> Iterator[tuple[FieldDescriptor, Any]]:
    """Yield every parameter of a certain form with texts that have none."""
    for field in fields_of(operation):
        if field.cpp_type == FieldDescriptor.CPPTYPE_STRING and member(field).format in _FORMS:
            yield from ((field, [text] if is_repeated(field) else text) for text in NONSENSE)


def beyond_bounds(operation: Operation) -> Iterator[tuple[FieldDescriptor, int]]:
    """Yield every number with a bound, one below the smallest and one above the largest that it takes."""
    for field in fields_of(operation):
        options = member(field)
        if options.HasField("min"):
            yield field, options.min - 1
        if options.HasField("max"):
            yield field, options.max + 1


def wrong_types(operation: Operation) -> Iterator[tuple[FieldDescriptor, Any]]:
    """Yield every parameter with JSON values of types that it does not take; `NativeJson` takes every one."""
    for field in fields_of(operation):
        if field.message_type is not None:
            continue
        values: list[Any] = [{}, {"a": [1]}]
        if is_repeated(field):
            values += [7, True, [{}], [[]]]
        elif field.enum_type is not None:
            values += [[], 1, True, "no such word"]
        elif is_block(field):
            # Hex digits are a block's where decimal ones are not, and the other way round.
            other = "26050001" if member(field).format == options_pb2.FORMAT_HEX_BLOCK else "0x1"
            values += [[], True, 1.5, -1, "pending", other, _LONG, *NONSENSE]
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            values += [[], True, 1.5]
        elif field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            values += [[], "yes", 1]
        else:
            values += [[], True, "one", "0x1"]
        yield from ((field, value) for value in values)
