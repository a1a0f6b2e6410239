"""What a collector gets of a gateway: a span for each request, item and upstream request, and no secret."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import secrets
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from waypost.v1.account_pb2 import GetBalanceRequest
from waypost.v1.batch_pb2 import ExecuteRequest
from waypost.v1.batch_pb2_grpc import BatchServiceStub

from runtime.logs import configure_logs, route_logs
from runtime.metrics import REGISTRY
from runtime.operations import load_operations
from runtime.settings import LogSettings
from tests.faults import simulator
from tests.server.accounts import stub_of
from tests.server.rpc.pipeline.traces.conftest import facts

if TYPE_CHECKING:
    from tests.server.rpc.pipeline.traces.conftest import Traced

pytestmark = pytest.mark.devnet

SERVER, CLIENT, INTERNAL = Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_INTERNAL
BALANCE = next(operation for operation in load_operations() if operation.name == "getBalance")


def a_trace() -> tuple[str, str, dict[str, str]]:
    """Return a trace's id, the id of a caller's span in it, and the header that names both."""
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return trace, span, {"traceparent": f"00-{trace}-{span}-01"}


def address() -> str:
    return "0x" + secrets.token_hex(20)


def balance(number: int = 1, at: str | None = None) -> dict[str, Any]:
    params = {"chain": "ethereum", "address": at or address()}
    return {"jsonrpc": "2.0", "id": number, "method": "getBalance", "params": params}


def of_kind(spans: list[Span], kind: int) -> list[Span]:
    return [span for span in spans if span.kind == kind]


def links_of(span: Span) -> set[bytes]:
    return {link.span_id for link in span.links}


@pytest.mark.parametrize("is_split", [False, True])
async def test_a_batch_is_a_span_its_items_are_its_children_and_their_fold_links_to_them_all(
    traced: Traced, is_split: bool
) -> None:
    trace, caller, header = a_trace()
    gateway = traced.gateway
    face = gateway.behind_socket if is_split else gateway.http
    assert face is not None
    batch = [balance(number) for number in range(6)]
    header["X-Request-Id"] = "wp_0123456789abcdef"
    async with gateway.session.post(f"{face}/local/v1", json=batch, headers=header) as response:
        assert [answer["result"]["data"]["balanceRaw"] for answer in await response.json()] == ["0"] * 6
    spans = await traced.spans()
    assert {span.trace_id.hex() for span in spans} == {trace}
    (request,) = of_kind(spans, SERVER)
    assert (request.name, request.parent_span_id.hex()) == ("POST /{key}/v1", caller)
    assert facts(request)["http.response.status_code"] == 200
    items = of_kind(spans, INTERNAL)
    assert Counter(item.name for item in items) == {"getBalance": 6}
    assert {item.parent_span_id for item in items} == {request.span_id}
    assert {facts(item)["waypost.chain"] for item in items} == {"ethereum"}
    exported = b"".join(one.SerializeToString() for one in traced.collector.requests)
    for secret in (b"secret-key-in-path", b"127.0.0.1", b"/local/", b"wp_0123456789abcdef", b"x-api-key"):
        assert secret not in exported
    assert traced.collector.metadata[-1]["token"] == "t1"
    if is_split:
        # Over a socket they come one after the other: not all of them need meet.
        upstream_of = [links_of(one) or {one.parent_span_id} for one in of_kind(spans, CLIENT)]
        assert set().union(*upstream_of) == {item.span_id for item in items}
        return
    (upstream,) = of_kind(spans, CLIENT)
    assert upstream.parent_span_id in {item.span_id for item in items}
    assert links_of(upstream) == {item.span_id for item in items}


async def test_requests_of_a_batch_over_grpc_are_children_of_its_span(traced: Traced) -> None:
    trace, caller, header = a_trace()
    batch = ExecuteRequest()
    for _ in range(6):
        batch.requests.add().Pack(GetBalanceRequest(chain="ethereum", address=address()))
    stub = stub_of(BatchServiceStub, traced.gateway.channel)
    response = await stub.Execute(batch, metadata=(("x-api-key", "local"), *header.items()), timeout=20)
    assert all(result.HasField("response") for result in response.results)
    spans = await traced.spans()
    assert {span.trace_id.hex() for span in spans} == {trace}
    (request,) = of_kind(spans, SERVER)
    assert (request.name, request.parent_span_id.hex()) == ("waypost.v1.BatchService/Execute", caller)
    by_name = {
        name: [one for one in of_kind(spans, INTERNAL) if one.name == name] for name in ("Execute", "getBalance")
    }
    (whole,), items = by_name["Execute"], by_name["getBalance"]
    assert whole.parent_span_id == request.span_id
    assert [item.parent_span_id for item in items] == [whole.span_id] * 6
    (upstream,) = of_kind(spans, CLIENT)
    assert links_of(upstream) == {item.span_id for item in items}
    known = facts(upstream)
    assert known.pop("http.response.status_code") == 200
    assert known == {
        "waypost.chain": "ethereum",
        "waypost.endpoint": "alpha",
        "waypost.method": "eth_call",
        "waypost.purpose": "call",
        "waypost.calls": 1,
        "waypost.fold.size": 6,
        "waypost.attempt": 1,
        "waypost.outcome": "answer",
    }


async def test_a_call_over_grpc_is_request_and_item_and_its_failed_attempts_are_spans(traced: Traced) -> None:
    trace, caller, header = a_trace()
    traced.alpha.fault = simulator.status("500 Internal Server Error")
    call = traced.gateway.channel.unary_unary(
        BALANCE.path,
        request_serializer=GetBalanceRequest.SerializeToString,
        response_deserializer=BALANCE.response.FromString,
    )
    await call(
        GetBalanceRequest(chain="ethereum", address=address()),
        metadata=(("x-api-key", "local"), *header.items()),
        timeout=10,
    )
    spans = await traced.spans()
    assert {span.trace_id.hex() for span in spans} == {trace}
    (request,), (item,) = of_kind(spans, SERVER), of_kind(spans, INTERNAL)
    assert (request.name, request.parent_span_id.hex()) == ("waypost.v1.AccountService/GetBalance", caller)
    assert (item.name, item.parent_span_id) == ("getBalance", request.span_id)
    assert facts(item)["rpc.grpc.status_code"] == 0
    attempts = sorted(of_kind(spans, CLIENT), key=lambda span: span.start_time_unix_nano)
    assert {span.parent_span_id for span in attempts} == {item.span_id}
    reported = [(facts(one)["waypost.endpoint"], facts(one)["waypost.attempt"]) for one in attempts]
    assert reported == [("alpha", 1), ("beta", 2)]
    assert [facts(one)["waypost.outcome"] for one in attempts] == ["sick", "answer"]
    assert [one.status.code for one in attempts] == [Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET]
    # Only the endpoint that is marked for it continues the trace.
    assert not any("traceparent" in asked.headers for asked in traced.alpha.asked)
    continued = [asked.headers["traceparent"] for asked in traced.beta.asked if "eth_call" in asked.methods]
    assert continued == [f"00-{trace}-{attempts[1].span_id.hex()}-01"]


async def test_who_joins_a_read_that_is_under_way_is_linked_as_well(traced: Traced) -> None:
    at = address()
    traced.alpha.fault = traced.beta.fault = simulator.delay(0.3)
    first = asyncio.create_task(traced.gateway.post(balance(at=at), headers=a_trace()[2]))
    async with asyncio.timeout(5):
        while not any("eth_call" in asked.methods for asked in traced.asked):  # noqa: ASYNC110  # another's event
            await asyncio.sleep(0.005)
    second, third = await asyncio.gather(
        traced.gateway.post(balance(at=at), headers=a_trace()[2]),
        # Another question: what it waits for is no part of it.
        traced.gateway.post(balance(), headers=a_trace()[2]),
    )
    assert {(await first).status, second.status, third.status} == {200}
    spans = await traced.spans()
    items = of_kind(spans, INTERNAL)
    assert len(items) == 3
    shared, own = sorted(of_kind(spans, CLIENT), key=lambda span: -len(span.links))
    assert len(links_of(shared)) == 2
    assert not own.links
    assert links_of(shared) == {item.span_id for item in items} - {own.parent_span_id}
    assert len({link.trace_id for link in shared.links}) == 2


async def test_log_lines_of_a_call_name_its_request_and_its_trace(traced: Traced) -> None:
    trace, _, header = a_trace()
    traced.alpha.fault = traced.beta.fault = simulator.status("500 Internal Server Error")
    written = io.StringIO()
    level = logging.getLogger().level
    handler = configure_logs(LogSettings(format="json", level="debug"), written)
    try:
        answers = []
        for _ in range(3):
            response = await traced.gateway.post(balance(), headers={**header, "X-Request-Id": "the-request"})
            answers.append((await response.json())["error"]["data"]["reason"])
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(level)
        route_logs()
    assert answers == ["UPSTREAM_UNAVAILABLE"] * 3
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    own = [line for line in lines if line["event"] in ("call failed", "endpoint open")]
    assert {line["event"] for line in own} == {"call failed", "endpoint open"}
    assert {(line["request_id"], line["trace_id"]) for line in own} == {("the-request", trace)}
    (item,) = of_kind(await traced.spans(), INTERNAL)[:1]
    assert facts(item)["waypost.reason"] == "UPSTREAM_UNAVAILABLE"
    assert item.status.code == Status.STATUS_CODE_ERROR


async def test_items_that_no_call_is_made_for_have_spans_too(traced: Traced) -> None:
    batch = [balance(1), balance(2) | {"method": "getNothing"}, balance(3) | {"params": {"chain": 1}}, {"id": 4}]
    batch.append({"jsonrpc": "2.0", "id": 5, "method": "rpc.discover"})
    assert (await traced.gateway.post(batch)).status == 200
    spans = await traced.spans()
    (request,) = of_kind(spans, SERVER)
    items = of_kind(spans, INTERNAL)
    assert {item.parent_span_id for item in items} == {request.span_id}
    reported = Counter((item.name, facts(item).get("waypost.reason")) for item in items)
    assert reported == {
        ("getBalance", None): 1,
        ("refused", "METHOD_UNKNOWN"): 1,
        ("refused", "INVALID_ARGUMENT"): 1,
        ("refused", "INVALID_REQUEST"): 1,
        ("rpc.discover", None): 1,
    }


async def test_what_a_caller_does_not_record_is_not_recorded_and_malformed_headers_begin_a_trace(
    traced: Traced,
) -> None:
    header = a_trace()[2]
    silent = {"traceparent": header["traceparent"].removesuffix("01") + "00"}
    assert (await traced.gateway.post(balance(), headers=silent)).status == 200
    assert await traced.spans() == []
    for wrong in ("00-zz-zz-01", "", "x" * 5000, f"00-{'0' * 32}-{'0' * 16}-01"):
        assert (await traced.gateway.post(balance(), headers={"traceparent": wrong})).status == 200
    spans = await traced.spans()
    assert len({span.trace_id for span in of_kind(spans, SERVER)}) == 4
    assert not any(span.parent_span_id for span in of_kind(spans, SERVER))


async def test_the_openmetrics_form_names_traces_as_examples(traced: Traced) -> None:
    trace, _, header = a_trace()
    assert (await traced.gateway.post(balance(), headers=header)).status == 200
    found = {
        (family.name, sample.exemplar.labels["trace_id"])
        for family in text_string_to_metric_families(generate_latest(REGISTRY).decode())
        for sample in family.samples
        if sample.exemplar
    }
    assert {("waypost_operation_seconds", trace), ("waypost_upstream_seconds", trace)} <= found
