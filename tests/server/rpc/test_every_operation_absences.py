"""What does not exist is a 404 that names the parameter which asked for it, on both faces and for every family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from waypost.options.v1 import options_pb2

from devnet.cosmos.world import CHAINS as COSMOS
from devnet.cosmos.world import address, operator
from runtime.operations import member
from tests.server.rpc.every import (
    HASHES,
    SLUGS,
    WORKING,
    chain_of,
    family_of,
    fields_of,
    path_of,
    right,
)
from tests.server.rpc.refusals import ask_json, members_for, refused

if TYPE_CHECKING:
    from runtime.operations import Operation
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

_HUB = COSMOS["cosmoshub"]
# By what the operation looks up, where its form alone does not make it absent.
ABSENT = {
    "getAccount": address(_HUB, "nobody at all"),
    "getValidator": operator(_HUB, 999),
    "getTokenMetadata": "unosuchdenom",
    "resolveENS": "no-such-name-anywhere.eth",
    "reverseENS": "0x" + "12" * 20,
}
# Elsewhere the address of no token is a 400 NOT_A_TOKEN.
ONLY_ON = {"getTokenMetadata": {"cosmos"}}
# Its nodes are asked in the tests of Starknet: the gateway of these has none.
WITHOUT_NODES = {"starknet"}


def subject_of(operation: Operation) -> FieldDescriptor | None:
    return next((field for field in fields_of(operation) if member(field).subject), None)


def absent(operation: Operation, family: str) -> Any:
    """Return a well-formed value of the subject that no chain of the family knows."""
    subject = subject_of(operation)
    assert subject is not None
    if operation.name in ABSENT:
        return ABSENT[operation.name]
    return 2**40 if subject.cpp_type == FieldDescriptor.CPPTYPE_INT64 else HASHES[family]


CASES = [
    (operation, family)
    for operation in WORKING
    if subject_of(operation)
    for family in SLUGS
    if family in operation.available & ONLY_ON.get(operation.name, operation.available) - WITHOUT_NODES
]


def test_what_looks_up_a_hash_or_a_required_block_has_a_subject() -> None:
    for operation in WORKING:
        for field in fields_of(operation):
            options = member(field)
            is_hash = options.format in (options_pb2.FORMAT_HASH, options_pb2.FORMAT_EVM_HASH)
            if options.required and (is_hash or field.cpp_type == FieldDescriptor.CPPTYPE_INT64):
                assert options.subject, (operation.name, field.name)
        assert sum(member(field).subject for field in fields_of(operation)) <= 1, operation.name


@pytest.mark.parametrize(
    ("operation", "family"), CASES, ids=lambda value: value if isinstance(value, str) else value.name
)
async def test_what_is_absent_is_named(faces: RunningGateway, operation: Operation, family: str) -> None:
    subject = subject_of(operation)
    assert subject is not None
    name = subject.json_name
    members = members_for(operation, chain_of(operation, family)) | {name: absent(operation, family)}
    reported = await refused(faces, operation, members)
    assert reported[:3] == (404, "NOT_FOUND", path_of(operation, name)), reported


ITEMS = [(operation, family) for operation, family in CASES if operation.takes_items]


@pytest.mark.parametrize(
    ("operation", "family"), ITEMS, ids=lambda value: value if isinstance(value, str) else value.name
)
async def test_where_every_item_is_absent_the_first_is_named(
    faces: RunningGateway, operation: Operation, family: str
) -> None:
    subject = subject_of(operation)
    assert subject is not None
    members = members_for(operation, chain_of(operation, family)) | {subject.json_name: absent(operation, family)}
    reported = await ask_json(faces, operation, [members, members])
    assert reported is not None
    assert reported[:3] == (404, "NOT_FOUND", f"params[0].{subject.json_name}"), reported


# Blanks

BLANK = (" ", "\t \n", "\u00a0", "\u3000")


def blank_texts(operation: Operation) -> list[str]:
    """Return the required parameters that take any text."""
    return [
        field.json_name
        for field in fields_of(operation)
        if member(field).required
        and not member(field).format
        and field.cpp_type == FieldDescriptor.CPPTYPE_STRING
        and operation.name != "svc_*"  # its method is the JSON-RPC name
    ]


@pytest.mark.parametrize(
    ("operation", "name"),
    [(one, name) for one in WORKING for name in blank_texts(one)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
async def test_a_required_text_that_is_blank_is_refused(faces: RunningGateway, operation: Operation, name: str) -> None:
    members = right(operation, family_of(operation))
    empty = await refused(faces, operation, {**members, name: ""})
    assert empty[:3] == (400, "INVALID_ARGUMENT", name), empty
    for blank in BLANK:
        reported = await refused(faces, operation, {**members, name: blank})
        assert reported[:3] == (400, "INVALID_ARGUMENT", name), (blank, reported)
        assert reported[3].startswith(f"{name} is blank; for example "), reported
