"""What is not there, or not yet, is about the parameter that the operation looks up, unless it names another."""

from __future__ import annotations

import pytest
from google.rpc import error_details_pb2
from grpc import StatusCode

from runtime.operations import load_operations
from server.errors import (
    ArchiveRequired,
    GatewayError,
    InvalidArgument,
    NotFound,
    Pending,
    RateLimited,
    UpstreamUnavailable,
)
from server.rpc.pipeline.call import REQUEST, RequestState
from server.rpc.pipeline.errors import FACE, describe
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


@pytest.mark.parametrize(
    ("operation", "name", "own"),
    [
        ("getUsage", "limit", "page_size"),
        ("getLogs", "cursor", "page_token"),
        ("getNetworkCalendar", "from", "from_date"),
        ("getLogs", "fromBlock", "fromBlock"),
        ("getTopPrices", "limit", "limit"),
    ],
)
def test_a_parameter_that_json_calls_by_another_word_is_named_as_the_caller_writes_it(
    operation: str, name: str, own: str
) -> None:
    failure = InvalidArgument(f"{name} is wrong; the {name} is that of before", field=name)
    for trusted, metadata, shown in (
        (False, {}, own),
        (True, {}, name),
        (True, {FACE: "grpc"}, own),
    ):
        status = describe(failure, RequestState("id", OPERATIONS[operation], 0.0, metadata, trusted))
        bad = error_details_pb2.BadRequest.FromString(status.details[1].value)
        assert bad.field_violations[0].field == shown
        assert status.message == f"{shown} is wrong; the {name} is that of before"


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


def test_failures_of_equal_content_differ_by_their_request_alone() -> None:
    failure = RateLimited("used up", field="items", retry_after_ms=250)
    first, second = (describe(failure, RequestState(name, None, 0.0, {})) for name in ("a", "b"))
    assert first.details[:-1] == second.details[:-1]
    ids = [error_details_pb2.RequestInfo.FromString(status.details[-1].value).request_id for status in (first, second)]
    assert ids == ["a", "b"]
    assert (first.code, first.message) == (StatusCode.RESOURCE_EXHAUSTED.value[0], "used up")
    assert [detail.TypeName() for detail in first.details] == [
        "google.rpc.ErrorInfo",
        "google.rpc.BadRequest",
        "google.rpc.RetryInfo",
        "google.rpc.RequestInfo",
    ]
    later = describe(RateLimited("used up", field="items", retry_after_ms=500), RequestState("c", None, 0.0, {}))
    delay = error_details_pb2.RetryInfo.FromString(later.details[2].value).retry_delay
    assert delay.ToMilliseconds() == 500


def test_facts_are_those_of_their_own_failure() -> None:
    state = RequestState("a", None, 0.0, {})
    oldest = []
    for block in (7, 8):
        failure = ArchiveRequired("too old")
        failure.oldest_block = block
        info = error_details_pb2.ErrorInfo.FromString(describe(failure, state).details[0].value)
        oldest.append(info.metadata["oldestBlock"])
    assert oldest == ["7", "8"]
