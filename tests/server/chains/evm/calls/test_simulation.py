"""Answers of nodes that run a call, in the shapes of execution-apis (eth_simulateV1) and go-ethereum's callTracer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.chains.evm.calls.simulation import parse_simulated_blocks, parse_traced_call

TOKEN = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
OTHER = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
TOPIC = "0x" + "ab" * 32
NO_LUCK = "0x08c379a0" + (32).to_bytes(32).hex() + (7).to_bytes(32).hex() + b"no luck".ljust(32, b"\0").hex()
HALTED = "the call fails in the virtual machine: the code at the address is not meant to be called so"


def log(data: str, address: str = TOKEN, **more: str) -> dict[str, Any]:
    return {"address": address.lower(), "topics": [TOPIC], "data": data, **more}


def frame(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "CALL", "from": OTHER, "to": TOKEN, "gas": "0x1", "gasUsed": "0x5208", **more, "calls": list(calls)}


def simulated(**call: Any) -> bytes:
    """Return the answer of a node that puts the call into a block after the one asked for."""
    whole = {"returnData": "0x", "logs": [], "gasUsed": "0x5208", "status": "0x1", **call}
    return json.dumps([{"number": "0x2", "hash": TOPIC, "transactions": [], "calls": [whole]}]).encode()


def test_a_simulated_success() -> None:
    ran = parse_simulated_blocks(simulated(returnData="0x01", logs=[log("0x07", logIndex="0x0", removed=False)]))
    assert (ran.succeeded, ran.data, ran.gas, ran.reason) == (True, b"\1", 21_000, None)
    assert ran.logs is not None
    assert [(one.address, one.topics, one.data) for one in ran.logs] == [(TOKEN, (TOPIC,), "0x07")]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ({"error": {"code": 3, "message": "execution reverted", "data": NO_LUCK}}, "execution reverted: no luck"),
        ({"returnData": NO_LUCK, "error": {"code": -3200, "message": "failed"}}, "execution reverted: no luck"),
        ({"error": {"code": 3, "message": "execution reverted"}}, "execution reverted without a reason"),
        ({"error": {"code": -32015, "message": "out of gas"}}, "the call runs out of gas"),
        ({"error": {"code": -32015, "message": "http://secret/ invalid opcode"}}, HALTED),
        ({"error": {"code": -3200, "message": "execution failed"}}, None),
        ({}, None),
    ],
)
def test_a_simulated_failure_keeps_no_logs(call: dict[str, Any], reason: str | None) -> None:
    ran = parse_simulated_blocks(simulated(status="0x0", logs=[log("0x07")], **call))
    assert (ran.succeeded, ran.reason, ran.logs) == (False, reason, ())


def test_logs_of_a_trace_are_in_the_order_of_the_chain() -> None:
    inner = frame(
        frame(logs=[log("0x03", position="0x0")]), logs=[log("0x02", position="0x0"), log("0x04", position="0x1")]
    )
    last = frame(logs=[log("0x06", OTHER, position="0x0")])
    top = frame(
        inner,
        last,
        output="0x09",
        logs=[log("0x01", position="0x0"), log("0x05", position="0x1"), log("0x07", position="0x2")],
    )
    ran = parse_traced_call(json.dumps(top).encode())
    assert (ran.succeeded, ran.data, ran.gas, ran.reason) == (True, b"\x09", 21_000, None)
    assert ran.logs is not None
    assert [one.data for one in ran.logs] == [f"0x0{number}" for number in range(1, 8)]
    assert ran.logs[5].address == OTHER


def test_logs_of_one_place_keep_their_order() -> None:
    ran = parse_traced_call(json.dumps(frame(logs=[log(f"0x{number:02x}") for number in range(12)])).encode())
    assert ran.logs is not None
    assert [int(one.data, 16) for one in ran.logs] == list(range(12))


def test_what_failed_calls_wrote_is_undone_with_the_calls_inside_them() -> None:
    failed = frame(frame(logs=[log("0x01")]), error="execution reverted", logs=[log("0x02")])
    ran = parse_traced_call(json.dumps(frame(failed, frame(logs=[log("0x03")]))).encode())
    assert ran.logs is not None
    assert [one.data for one in ran.logs] == ["0x03"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"error": "execution reverted", "output": NO_LUCK}, "execution reverted: no luck"),
        ({"error": "execution reverted"}, "execution reverted without a reason"),
        ({"error": "out of gas"}, "the call runs out of gas"),
        ({"error": "OutOfGas"}, "the call runs out of gas"),
        ({"error": "invalid opcode: INVALID"}, HALTED),
    ],
)
def test_a_traced_failure(more: dict[str, Any], reason: str) -> None:
    ran = parse_traced_call(json.dumps(frame(frame(logs=[log("0x01")]), **more)).encode())
    assert (ran.succeeded, ran.reason, ran.logs) == (False, reason, ())


def test_a_trace_may_be_as_deep_as_the_machine_goes() -> None:
    text = b""
    for _ in range(1024):
        inside = b',"calls":[' + text + b"]" if text else b',"logs":[' + json.dumps(log("0x01")).encode() + b"]"
        text = b'{"type":"CALL","gasUsed":"0x1"' + inside + b"}"
    ran = parse_traced_call(text)
    assert ran.logs is not None
    assert len(ran.logs) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"null",
        b"[]",
        b"{}",
        b'"0x"',
        b'[{"calls":[]}]',
        b'{"structLogs":[],"gas":1,"failed":false}',
        b'[{"calls":[{"status":"0x1","gasUsed":7,"returnData":"0x"}]}]',
        b'[{"calls":[{"status":"0x1","gasUsed":"0x7","returnData":"zz"}]}]',
        b"[" * 5000,
    ],
)
def test_other_shapes_are_reported_apart(answer: bytes) -> None:
    for parse in (parse_simulated_blocks, parse_traced_call):
        with pytest.raises(ValueError, match=r"\w"):
            parse(answer)
