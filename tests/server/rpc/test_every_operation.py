"""Every operation with every chain, and with every way of asking it wrongly; generated from the descriptors.

An operation works for a chain, or the refusal names the chains that have it. What callers get wrong is a 400 or 404
that names the parameter, the same on both faces: never an internal error, never a call that hangs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runtime.operations import member
from server.rpc.pipeline.formats import is_repeated
from tests.each import each
from tests.server.rpc.every import (
    FAMILIES,
    OPERATIONS,
    PUBLISHED,
    SLUGS,
    WORKING,
    beyond_bounds,
    chain_field,
    chain_members,
    chain_of,
    chain_path,
    family_of,
    fields_of,
    has,
    is_integer,
    malformed,
    params_of,
    path_of,
    right,
    texts,
    unset_is_zero,
    wrong_types,
)
from tests.server.rpc.refusals import ask_grpc, ask_json, members_for, refused

if TYPE_CHECKING:
    from runtime.operations import Operation
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

# What callers may send in place of an object.
SHAPES: list[Any] = ["text", 7, True, [], [7], [[]], {"items": 7}]


def named(case: Any) -> str:
    """Return what a failure calls the case: an operation, or one and what it is asked with."""
    first, *others = case if isinstance(case, tuple) else (case,)
    return " ".join([first.name, *map(repr, others)])


every_operation = each(OPERATIONS, name=named)
every_working = each(WORKING, name=named)
with_chain = each([one for one in WORKING if chain_field(one)], name=named)


# Chains


@every_operation
async def test_a_chain_without_the_operation_is_reported_the_chains_that_have_it(
    operation: Operation, faces: RunningGateway
) -> None:
    if chain_field(operation) is None or not operation.families - {"chainless"}:
        return  # it takes no chain, or any as a filter
    having = [slug for slug in FAMILIES if has(operation, slug)]
    answered = [slug for slug in having if FAMILIES[slug] in operation.available]
    for slug in FAMILIES:
        if slug in answered:
            continue
        reported = await refused(faces, operation, members_for(operation, slug))
        if not answered:
            assert reported[:2] == (404, "NOT_AVAILABLE"), (slug, reported)
        elif slug in having:
            assert reported[:3] == (404, "NOT_AVAILABLE", chain_path(operation)), (slug, reported)
            assert reported[3].endswith("it is on: " + ", ".join(answered))
        else:
            assert reported[:3] == (400, "CHAIN_UNSUPPORTED", chain_path(operation)), (slug, reported)
            assert reported[3].endswith("it does on: " + ", ".join(having))


@each([(one, family) for one in WORKING for family in SLUGS if family in one.available], name=named)
async def test_a_chain_with_the_operation_has_a_driver_that_takes_it(
    operation: Operation, family: str, faces: RunningGateway
) -> None:
    slug = chain_of(operation, family)
    reported = await ask_grpc(faces, operation, members_for(operation, slug))
    if reported is None:
        return
    # What the examples name need not be on the local chain, but the question has reached it.
    code, reason, field, message = reported
    assert code in (400, 404, 503), message
    assert reason not in ("NOT_AVAILABLE", "CHAIN_UNSUPPORTED", "CHAIN_UNKNOWN", "METHOD_UNKNOWN"), message
    assert code != 503 or family == "starknet", message
    assert field != chain_path(operation), message


@every_operation
async def test_an_operation_that_is_not_built_yet_says_so(operation: Operation, faces: RunningGateway) -> None:
    if operation.available:
        return
    reported = await refused(faces, operation, right(operation, "evm"))
    assert reported[:2] == (404, "NOT_AVAILABLE")


@with_chain
async def test_an_unknown_chain_is_answered_with_the_nearest(operation: Operation, faces: RunningGateway) -> None:
    members = right(operation, family_of(operation)) | chain_members(operation, "etherium")
    reported = await refused(faces, operation, members)
    assert reported[:3] == (404, "CHAIN_UNKNOWN", chain_path(operation))
    assert "did you mean `ethereum`?" in reported[3]


# Parameters


@every_working
async def test_a_missing_parameter_is_named(operation: Operation, faces: RunningGateway) -> None:
    members = right(operation, family_of(operation))
    zeros = {field.json_name: member(field).min for field in fields_of(operation) if unset_is_zero(field)}
    for name in members:
        others = {key: value for key, value in members.items() if key != name}
        if name in zeros:
            over_grpc = await ask_grpc(faces, operation, others)
            if zeros[name] > 0:
                assert over_grpc is not None
                assert over_grpc[:3] == (400, "INVALID_ARGUMENT", path_of(operation, name))
                assert f"{name} is 0; write a number of at least" in over_grpc[3]
            else:
                assert over_grpc is None or over_grpc[1] != "INVALID_ARGUMENT", over_grpc
            in_json = await ask_json(faces, operation, params_of(operation, others))
            assert in_json is not None
            assert f"{name} is required" in in_json[3]
            reported = in_json
        else:
            reported = await refused(faces, operation, others)
        assert reported[:3] == (400, "INVALID_ARGUMENT", path_of(operation, name)), reported
        if operation.name not in PUBLISHED:
            nothing = await ask_json(faces, operation, params_of(operation, {**members, name: None}))
            assert nothing is not None
            assert nothing[:3] == reported[:3]


@every_working
async def test_a_text_beyond_all_bounds_is_refused(operation: Operation, faces: RunningGateway) -> None:
    members = right(operation, family_of(operation))
    for field, long in texts(operation):
        name = field.json_name
        reported = await refused(faces, operation, {**members, name: long})
        assert reported[0] in (400, 404), (name, reported)
        assert reported[1] in ("INVALID_ARGUMENT", "CHAIN_UNKNOWN"), (name, reported)
        assert (reported[2] or "").startswith(path_of(operation, name)), (name, reported)
        assert len(reported[3]) < 2000, name
        assert len(long if isinstance(long, str) else long[0]) > 4096


@each(
    [(one, family) for one in WORKING for family in SLUGS if family in one.available or family == family_of(one)],
    name=named,
)
async def test_a_text_without_the_form_of_its_parameter_is_named(
    operation: Operation, family: str, faces: RunningGateway
) -> None:
    members = right(operation, family)
    for field, nonsense in malformed(operation):
        name = field.json_name
        reported = await refused(faces, operation, {**members, name: nonsense})
        assert reported[:2] == (400, "INVALID_ARGUMENT"), (name, nonsense, reported)
        assert (reported[2] or "").startswith(path_of(operation, name)), (name, nonsense, reported)


@every_working
async def test_a_number_beyond_its_bounds_is_named(operation: Operation, faces: RunningGateway) -> None:
    members = right(operation, family_of(operation))
    for field, number in beyond_bounds(operation):
        wrong = {**members, field.json_name: number}
        if number == 0 and unset_is_zero(field) and not member(field).required:
            # Over gRPC it is not given.
            assert await ask_grpc(faces, operation, wrong) == await ask_grpc(faces, operation, members)
            in_json = await ask_json(faces, operation, params_of(operation, wrong))
            assert in_json is not None, wrong
            reported = in_json
        else:
            reported = await refused(faces, operation, wrong)
        assert reported[:3] == (400, "INVALID_ARGUMENT", path_of(operation, field.json_name)), (number, reported)


@every_working
async def test_a_list_beyond_all_bounds_is_refused(operation: Operation, faces: RunningGateway) -> None:
    members = right(operation, family_of(operation))
    for field in fields_of(operation):
        if is_repeated(field) and field.message_type is None:
            values = members.get(field.json_name) or json.loads(member(field).example)
            reported = await refused(faces, operation, {**members, field.json_name: values * 1001})
            assert reported[:3] == (400, "INVALID_ARGUMENT", path_of(operation, field.json_name)), reported


@every_working
async def test_a_value_of_another_type_is_named(operation: Operation, faces: RunningGateway) -> None:
    members = {} if operation.name in PUBLISHED else right(operation, family_of(operation))
    for field, value in wrong_types(operation):
        name = field.json_name
        if operation.name in PUBLISHED and name == "method":
            continue
        reported = await ask_json(faces, operation, params_of(operation, {**members, name: value}))
        assert reported is not None, (name, value)
        assert reported[:2] == (400, "INVALID_ARGUMENT"), (name, value, reported)
        assert (reported[2] or "").startswith(path_of(operation, name)), (name, value, reported)


@every_working
async def test_an_unknown_parameter_is_answered_with_the_nearest(operation: Operation, faces: RunningGateway) -> None:
    members = right(operation, family_of(operation))
    known = [field.json_name for field in fields_of(operation)]
    if operation.name in PUBLISHED:
        members, known = {}, [name for name in known if name != "method"]
    if not known:
        reported = await ask_json(faces, operation, {"surprise": 1})
        assert reported is not None
        assert reported[:3] == (400, "UNKNOWN_PARAMETER", "surprise")
    for name in known:
        slip = name + name[-1]
        reported = await ask_json(faces, operation, params_of(operation, {**members, slip: 1}))
        assert reported is not None
        assert reported[:3] == (400, "UNKNOWN_PARAMETER", path_of(operation, slip)), reported
        assert name in reported[3]


@each([(one, params) for one in WORKING for params in SHAPES], name=named)
async def test_parameters_of_another_shape_are_refused(
    operation: Operation, params: Any, faces: RunningGateway
) -> None:
    reported = await ask_json(faces, operation, params)
    if reported is None:
        # No parameters at all are right for an operation that requires none, one number for one that begins with it.
        assert params in ([], [7])
        in_order = sorted(fields_of(operation), key=lambda field: not member(field).required)
        assert not any(member(field).required for field in in_order[len(params) :])
        assert all(is_integer(field) for field in in_order[: len(params)])
        return
    assert reported[0] == 400, reported
    assert reported[1] in ("INVALID_ARGUMENT", "INVALID_REQUEST", "UNKNOWN_PARAMETER"), reported
