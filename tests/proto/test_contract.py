"""The descriptors hold what the contract states: `tests/golden/contract.txt`, member by member with its JSON type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from waypost.options.v1 import options_pb2

from runtime.operations import Operation, load_operations, member
from tests.each import each

PAGE = Path(__file__).parents[1] / "golden" / "contract.txt"
TOKEN = re.compile(r"[\[\]{}<>?]|[^\s\[\]{}<>?:!]+!?:?|\S")
# What the contract says about the surface beyond its 73 named operations, section 4.16 aside: names of our own.
OURS = {
    "getHealth",
    "getNetworkCalendar",
    "getPrices",
    "getPortfolio",
    "getRewards",
    "getUsage",
    "getValidators",
    "getValidator",
    "getStakingPool",
    "getBlockResults",
    "chainRpc",
}
SCALARS = {
    FieldDescriptor.CPPTYPE_INT32: "i",
    FieldDescriptor.CPPTYPE_INT64: "i",
    FieldDescriptor.CPPTYPE_UINT32: "i",
    FieldDescriptor.CPPTYPE_UINT64: "i",
    FieldDescriptor.CPPTYPE_DOUBLE: "n",
    FieldDescriptor.CPPTYPE_BOOL: "b",
    FieldDescriptor.CPPTYPE_STRING: "s",
    FieldDescriptor.CPPTYPE_ENUM: "s",
}


@dataclass(frozen=True)
class Shape:
    """A JSON shape: a letter of the page, `[` array, `{` object, `<` dynamic object."""

    kind: str
    inner: Shape | None = None
    members: dict[str, Shape] | None = None
    nullable: bool = False
    required: bool = False


def parse_members(tokens: list[str], end: str) -> dict[str, Shape]:
    found = {}
    while tokens and tokens[0] != end:
        name = tokens.pop(0).removesuffix(":")
        shape = parse_shape(tokens)
        found[name.removesuffix("!")] = Shape(
            shape.kind, shape.inner, shape.members, shape.nullable, name.endswith("!")
        )
    if tokens:
        tokens.pop(0)
    return found


def parse_shape(tokens: list[str]) -> Shape:
    kind, inner, members = tokens.pop(0), None, None
    if kind == "{":
        members = parse_members(tokens, "}")
    elif kind in "[<":
        inner = parse_shape(tokens)
        assert tokens.pop(0) in "]>"
    nullable = bool(tokens) and tokens[0] == "?" and bool(tokens.pop(0))
    return Shape(kind, inner, members, nullable)


@cache
def stated() -> dict[str, list[tuple[str, str, dict[str, Shape]]]]:
    """Return the page: name -> rows of (params | result, family variant or empty, members)."""
    found: dict[str, list[tuple[str, str, dict[str, Shape]]]] = {}
    name = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("  "):
            word, _, rest = line.strip().partition(" ")
            part, _, variant = word.partition("/")
            found[name].append((part, variant, parse_members(TOKEN.findall(rest), "")))
        elif line and not line.startswith("#"):
            name = line.strip()
            found[name] = []
    return found


def members_of(message: Descriptor, variant: str) -> dict[str, Shape]:
    """Return what the message prints; of a oneof of chain families only the variant's member."""
    found: dict[str, Shape] = {}
    for field in message.fields:
        oneof = field.containing_oneof
        if oneof is not None and len(oneof.fields) > 1 and field.name != variant and oneof.name != "outcome":
            continue
        if member(field).grpc_only:
            continue
        if member(field).inline and (field.message_type.name == "NativeJson" or is_map(field)):
            continue
        if member(field).inline:
            found |= members_of(field.message_type, variant)
        else:
            found[field.json_name] = shape_of(field, variant)
    return found


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def shape_of(field: FieldDescriptor, variant: str) -> Shape:
    options = member(field)
    message = field.message_type
    if is_map(field):
        return Shape("<", inner=one(message.fields_by_name["value"], variant))
    single = one(field, variant)
    if field.label == FieldDescriptor.LABEL_REPEATED and options.format != options_pb2.FORMAT_TREE:
        return Shape("[", inner=single, required=options.required)
    return Shape(single.kind, members=single.members, nullable=options.nullable, required=options.required)


def one(field: FieldDescriptor, variant: str) -> Shape:
    options = member(field)
    if field.message_type is None:
        return Shape("c" if options.format == options_pb2.FORMAT_CURSOR else SCALARS[field.cpp_type])
    if field.message_type.full_name == "google.protobuf.Timestamp":
        return Shape("i" if options.format == options_pb2.FORMAT_UNIX_SECONDS else "s")
    if field.message_type.name == "NativeJson":
        return Shape("o")
    return Shape("{", members=members_of(field.message_type, variant))


def differences(want: Shape, got: Shape, path: str) -> list[str]:
    if want.kind != got.kind or want.nullable != got.nullable:
        return [f"{path}: {want.kind}{'?' * want.nullable} stated, {got.kind}{'?' * got.nullable} described"]
    if want.inner is not None and got.inner is not None:
        return differences(want.inner, got.inner, path + "[]")
    return missing(want.members or {}, got.members or {}, path)


def missing(want: dict[str, Shape], got: dict[str, Shape], path: str) -> list[str]:
    found = [f"{path}.{name}: stated, not described" for name in want.keys() - got.keys()]
    for name in want.keys() & got.keys():
        found += differences(want[name], got[name], f"{path}.{name}")
        if want[name].required and not got[name].required:
            found.append(f"{path}.{name}: required, described as optional")
    return found


def by_name() -> dict[str, Operation]:
    return {operation.name: operation for operation in load_operations()}


def test_the_page_holds_the_73_operations_of_the_contract_and_the_published_methods() -> None:
    assert len(stated()) == 74
    assert sum(len(rows) for rows in stated().values()) > 150


def test_every_operation_is_stated_by_the_contract_or_ours() -> None:
    assert by_name().keys() == stated().keys() | OURS


@each(sorted(stated()))
def test_an_operation_takes_and_returns_what_the_contract_states(name: str) -> None:
    operation = by_name()[name]
    for part, variant, want in stated()[name]:
        message = (operation.request if part == "params" else operation.response).DESCRIPTOR
        got = members_of(message, variant)
        if part == "result" and operation.options.result == options_pb2.RESULT_SHAPE_DATA_FIELD:
            assert len(got) == 1, "only one field becomes `data`"
            got = {"data": next(iter(got.values()))}
        assert not missing(want, got, f"{name} {part}/{variant}")
        if part == "params":
            extra = got.keys() - want.keys() - ({"method"} if name.endswith("*") else set())
            assert not extra, f"{name} takes {extra}, which the contract does not know"
            optional = {key for key, shape in got.items() if not shape.required}
            assert not optional & {key for key, shape in want.items() if shape.required}
            assert not {key for key, shape in want.items() if not shape.required} - optional, "stricter than stated"
