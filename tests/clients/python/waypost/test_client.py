"""The client against answers that are made here: what it sends, how it fails, repeats and reads pages."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
import grpc_testing
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from waypost import (
    AsyncWaypost,
    DeadlineExceeded,
    InvalidArgument,
    RateLimited,
    TransportError,
    UpstreamUnavailable,
    Waypost,
    WaypostError,
)
from waypost.v1 import account_pb2, log_pb2, usage_pb2

from tests.clients.python.failing import BALANCE, Failing, served, status

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

GET_BALANCE = account_pb2.DESCRIPTOR.services_by_name["AccountService"].methods_by_name["GetBalance"]
GET_LOGS = log_pb2.DESCRIPTOR.services_by_name["LogService"].methods_by_name["GetLogs"]
GET_USAGE = usage_pb2.DESCRIPTOR.services_by_name["UsageService"].methods_by_name["GetUsage"]


class Case:
    """One call of the client in a thread, and what it asks of the channel here."""

    def __init__(self, work: Callable[[Waypost], Any], **options: Any) -> None:
        services = [method.containing_service for method in (GET_BALANCE, GET_LOGS, GET_USAGE)]
        self.channel = grpc_testing.channel(services, grpc_testing.strict_real_time())
        client = Waypost("gateway.example:443", "secret", channel=self.channel, **options)
        threads = ThreadPoolExecutor(1)
        self.result: Future[Any] = threads.submit(work, client)
        threads.shutdown(wait=False)

    def take(self, method: Any) -> tuple[Any, Any, Any]:
        """Return metadata, request and the call itself."""
        taken: tuple[Any, Any, Any] = self.channel.take_unary_unary(method)
        return taken

    def answer(self, method: Any, message: Message) -> Any:
        """Answer the next call; returns its request."""
        metadata, request, call = self.take(method)
        assert ("x-api-key", "secret") in metadata
        call.send_initial_metadata(())
        call.terminate(message, (), grpc.StatusCode.OK, "")
        return request

    def refuse(self, method: Any, code: grpc.StatusCode, packed: bytes | None) -> None:
        """Fail the next call."""
        _, _, call = self.take(method)
        call.send_initial_metadata(())
        trailing = () if packed is None else (("grpc-status-details-bin", packed),)
        call.terminate(None, trailing, code, "said so")


def test_keyword_arguments_become_the_request_and_the_answer_is_its_message() -> None:
    case = Case(lambda client: client.accounts.get_balance(chain="ethereum", address="0x1", block_height=0))
    request = case.answer(GET_BALANCE, BALANCE)
    assert request == account_pb2.GetBalanceRequest(chain="ethereum", address="0x1", block_height=0)
    assert case.result.result(10) == BALANCE


def test_what_is_not_given_is_not_set_and_enums_are_words_too() -> None:
    case = Case(lambda client: client.usage.get_usage(group_by="day"))
    request = case.answer(GET_USAGE, usage_pb2.GetUsageResponse())
    assert request == usage_pb2.GetUsageRequest(group_by=usage_pb2.USAGE_GROUP_DAY)
    with pytest.raises(ValueError, match="hour, day, operation, chain"):
        Case(lambda client: client.usage.get_usage(group_by="week")).result.result(10)  # type: ignore[arg-type]


def test_a_failure_is_the_exception_of_its_reason_with_all_that_it_brings() -> None:
    case = Case(lambda client: client.accounts.get_balance(chain="ethereum", address="0x1"))
    violation = BadRequest(field_violations=[BadRequest.FieldViolation(field="address")])
    code = grpc.StatusCode.INVALID_ARGUMENT
    case.refuse(GET_BALANCE, code, status(code, "INVALID_ARGUMENT", violation))
    error = case.result.exception(10)
    assert isinstance(error, InvalidArgument)
    assert (error.reason, error.message, error.field) == ("INVALID_ARGUMENT", "said so", "address")
    assert (error.retry_after, error.request_id, error.facts, error.node) == (None, "request-1", {}, None)


def test_a_reason_of_a_later_version_is_kept_and_a_foreign_failure_is_no_answer() -> None:
    case = Case(lambda client: client.accounts.get_balance(chain="ethereum", address="0x1"))
    code = grpc.StatusCode.FAILED_PRECONDITION
    case.refuse(GET_BALANCE, code, status(code, "OF_LATER"))
    later = case.result.exception(10)
    assert isinstance(later, WaypostError)
    assert later.reason == "OF_LATER"

    for packed in (None, b"\xff"):
        case = Case(lambda client: client.accounts.get_balance(chain="ethereum", address="0x1"))
        case.refuse(GET_BALANCE, grpc.StatusCode.PERMISSION_DENIED, packed)
        foreign = case.result.exception(10)
        assert isinstance(foreign, TransportError)
        assert foreign.status is grpc.StatusCode.PERMISSION_DENIED


def test_a_quota_is_waited_for_only_where_the_client_says_so() -> None:
    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    refusal = status(code, "RATE_LIMITED", RetryInfo(retry_delay=Duration(nanos=10_000_000)))
    case = Case(lambda client: client.accounts.get_balance(chain="ethereum", address="0x1"))
    case.refuse(GET_BALANCE, code, refusal)
    error = case.result.exception(10)
    assert isinstance(error, RateLimited)
    assert error.retry_after == 0.01

    case = Case(lambda client: client.accounts.get_balance(chain="ethereum", address="0x1"), quota_wait=0.025)
    case.refuse(GET_BALANCE, code, refusal)
    case.refuse(GET_BALANCE, code, refusal)
    case.answer(GET_BALANCE, BALANCE)
    assert case.result.result(10) == BALANCE


def test_an_iterator_asks_for_the_next_page_when_it_is_needed() -> None:
    case = Case(lambda client: [log.log_index for log in client.logs.iterate_logs(chain="ethereum")])
    places = []
    pages = [
        log_pb2.GetLogsResponse(next_page_token="7"),
        log_pb2.GetLogsResponse(next_page_token="5"),
        log_pb2.GetLogsResponse(),
    ]
    for number, page in enumerate(pages):
        for index in range(number):
            page.logs.add(log_index=10 * number + index)
        places.append(case.answer(GET_LOGS, page).page_token)
    assert places == ["", "7", "5"]
    assert case.result.result(10) == [10, 20, 21]


@pytest.mark.parametrize("pushback", [(), (("grpc-retry-pushback-ms", "5"),)])
def test_what_is_unavailable_is_repeated_four_times(pushback: tuple[tuple[str, str], ...]) -> None:
    for failures, calls in ((4, 5), (5, 5)):
        handler = Failing(failures, *pushback)
        with served(handler) as target, Waypost(target) as client:
            if failures < calls:
                assert client.accounts.get_balance(chain="ethereum", address="0x1") == BALANCE
            else:
                with pytest.raises(UpstreamUnavailable):
                    client.accounts.get_balance(chain="ethereum", address="0x1")
        assert handler.calls == calls


async def test_nothing_is_repeated_that_the_server_pushes_back() -> None:
    handler = Failing(1, ("grpc-retry-pushback-ms", "-1"))
    with served(handler) as target:
        async with AsyncWaypost(target) as client:
            with pytest.raises(UpstreamUnavailable):
                await client.accounts.get_balance(chain="ethereum", address="0x1")
    assert handler.calls == 1


def test_a_deadline_passes_by_its_reason_and_a_closed_port_is_a_transport_error() -> None:
    with served(Failing(0)) as target:
        pass
    with Waypost(target, timeout=5) as client, pytest.raises((TransportError, DeadlineExceeded)):
        client.gas.compare_gas(timeout=0.5)
