from __future__ import annotations

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from runtime import metrics, upstream_metrics
from runtime.exposition import CONTENT_TYPE, render_metrics, start_metrics

ADDRESS = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


def sample(name: str, **labels: str) -> float:
    """Return a sample of the rendered exposition, 0 when there is none."""
    for family in text_string_to_metric_families(render_metrics().decode()):
        for found in family.samples:
            if found.name == name and found.labels == labels:
                return float(found.value)
    return 0.0


def test_operations_are_counted_by_name_chain_code_and_reason() -> None:
    labels = {"operation": "getBalance", "chain": "ethereum", "code": "NOT_FOUND", "reason": "CHAIN_UNKNOWN"}
    before = sample("waypost_operations_total", **labels)
    metrics.count_operation("getBalance", "ethereum", "NOT_FOUND", "CHAIN_UNKNOWN", 0.004)
    assert sample("waypost_operations_total", **labels) == before + 1
    assert sample("waypost_operation_seconds_bucket", operation="getBalance", chain="ethereum", le="0.005") >= 1


def test_successes_and_chainless_operations_have_empty_labels() -> None:
    metrics.count_operation("getHealth", None, "OK", None, 0.001)
    assert sample("waypost_operations_total", operation="getHealth", chain="", code="OK", reason="") >= 1


def test_upstream_requests_are_counted_by_endpoint_label() -> None:
    upstream_metrics.count_upstream("base", "counted", "sick", 0.02, calls=7)
    assert sample("waypost_upstream_requests_total", chain="base", endpoint="counted", outcome="sick") == 1
    assert sample("waypost_upstream_batch_calls_sum", chain="base", endpoint="counted") == 7


def test_gauges_hold_the_last_value() -> None:
    upstream_metrics.set_head("base", 10)
    upstream_metrics.set_head("base", 12)
    upstream_metrics.set_endpoint_up("base", "alpha", False)
    metrics.measure_cache("answers", lambda: 1024)
    metrics.watch_in_flight(lambda: 3)
    assert sample("waypost_head_block", chain="base") == 12
    assert sample("waypost_endpoint_up", chain="base", endpoint="alpha") == 0
    assert sample("waypost_cache_bytes", cache="answers") == 1024
    assert sample("waypost_in_flight") == 3


def test_the_other_counters() -> None:
    metrics.count_http_request(200)
    metrics.observe_batch(50)
    metrics.count_refusal("jsonrpc", "RATE_LIMITED", 4)
    upstream_metrics.observe_fold("base", 20)
    upstream_metrics.count_joined("base")
    metrics.count_cache("answers", "hit")
    metrics.set_build("0.1.0", "devnet")
    assert sample("waypost_http_requests_total", status="200") >= 1
    assert sample("waypost_batch_items_sum") >= 50
    assert sample("waypost_refusals_total", face="jsonrpc", reason="RATE_LIMITED") >= 4
    assert sample("waypost_fold_reads_sum", chain="base") >= 20
    assert sample("waypost_cache_lookups_total", cache="answers", result="hit") >= 1
    assert sample("waypost_build_info", version="0.1.0", profile="devnet") == 1


@pytest.mark.parametrize("text", [ADDRESS, "wp_0123456789", "https://node.example.org/key", "a b", "x" * 65, "é"])
def test_what_a_caller_wrote_never_becomes_a_label(text: str) -> None:
    assert metrics.word(text) == metrics.OTHER
    metrics.count_operation(text, text, text, text, 0.001)
    upstream_metrics.count_upstream(text, text, "answer", 0.001)
    assert text not in render_metrics().decode()


def test_no_label_is_named_after_what_must_not_be_one() -> None:
    names = {
        label
        for family in text_string_to_metric_families(render_metrics().decode())
        for found in family.samples
        for label in found.labels
    }
    allowed = {
        "operation",
        "chain",
        "code",
        "reason",
        "face",
        "status",
        "endpoint",
        "outcome",
        "cache",
        "result",
        "le",
        "kind",
        "protocol",
        "store",
        "state",
        "direction",
        "listener",
    }
    assert names <= allowed | {"version", "profile"}


async def test_metrics_are_served() -> None:
    runner, port = await start_metrics("127.0.0.1:0")
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/metrics") as response,
        ):
            assert response.status == 200
            assert response.headers["Content-Type"] == CONTENT_TYPE
            assert b"waypost_in_flight" in await response.read()
        with pytest.raises(OSError, match=r"address already in use|Address already in use"):
            await start_metrics(f"127.0.0.1:{port}")
    finally:
        await runner.cleanup()


def test_hedges_and_disagreements_are_counted_by_endpoint() -> None:
    upstream_metrics.count_hedge("gnosis", "beta")
    upstream_metrics.count_hedge("gnosis", "beta")
    upstream_metrics.count_disagreement("gnosis", "alpha")
    metrics.set_tasks(7)
    shown = render_metrics().decode()
    assert 'waypost_upstream_hedges_total{chain="gnosis",endpoint="beta"} 2.0' in shown
    assert 'waypost_hash_disagreements_total{chain="gnosis",endpoint="alpha"} 1.0' in shown
    assert "waypost_tasks 7.0" in shown
