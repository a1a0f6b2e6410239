"""What is not there, or not yet, is about the parameter that the operation looks up, unless it names another."""

from __future__ import annotations

import pytest
from google.rpc import error_details_pb2

from runtime.operations import load_operations
from server.errors import ArchiveRequired, GatewayError, NotFound, Pending, UpstreamUnavailable
from server.rpc.pipeline.call import REQUEST, RequestState
from server.rpc.pipeline.errors import describe
from server.rpc.rows import gather_rows

OPERATIONS = {operation.name: operation for operation in load_operations()}


def named(failure: GatewayError, operation: str | None) -> str | None:
    """Return the parameter that the status of the failure names."""
    state = RequestState("id", None if operation is None else OPERATIONS[operation], 0.0, {})
    bad = error_details_pb2.BadRequest()
    found = [detail.Unpack(bad) for detail in describe(failure, state).details]
    return bad.field_violations[0].field if any(found) else None


@pytest.mark.parametrize("kind", [NotFound, Pending])
@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ("getReceipt", "hash"),
        ("traceTransaction", "hash"),
        ("getTransactionByHash", "params[0].hash"),
        ("getBlockByNumber", "params[0].block"),
        ("getBlockTransactions", "blockNumber"),
        ("resolveENS", "name"),
        ("getBalance", None),
        (None, None),
    ],
)
def test_an_absence_names_the_subject(kind: type[GatewayError], operation: str | None, path: str | None) -> None:
    assert named(kind("not there"), operation) == path
    assert named(kind("not there", field="blockHeight"), operation) == "blockHeight"


@pytest.mark.parametrize("kind", [UpstreamUnavailable, ArchiveRequired])
def test_another_failure_names_only_what_it_says(kind: type[GatewayError]) -> None:
    assert named(kind("it fails"), "getReceipt") is None
    assert named(kind("it fails", field="chain"), "getReceipt") == "chain"


async def test_where_every_row_fails_the_first_ones_parameter_is_named_by_its_item() -> None:
    failures = [NotFound("first", field="block"), NotFound("second")]

    async def read(failure: GatewayError) -> str:
        raise failure

    REQUEST.set(RequestState("a-request", None, 0.0, {}))
    with pytest.raises(NotFound) as caught:
        await gather_rows([read(failure) for failure in failures], lambda index, error: "row", str)
    assert (caught.value.message, caught.value.field) == ("first", "params[0].block")
    # Whoever else was reported the same failure asked for it by another name.
    assert failures[0].field == "block"
