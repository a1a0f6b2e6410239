"""Call traces of both interfaces become the same list of frames."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.calls.trace import parse_call_tracer, parse_trace_list, read_refusal
from server.contracts.address import checksum_address

A, B = checksum_address("0x" + "a1" * 20), checksum_address("0x" + "b0" * 20)
REASON = "0x08c379a0" + "20".rjust(64, "0") + "4".rjust(64, "0") + b"nope".hex().ljust(64, "0")


def call(*calls: Any, **changes: Any) -> dict[str, Any]:
    frame = {"type": "CALL", "from": A.lower(), "to": B.lower(), "value": "0x1", "gas": "0x64", "gasUsed": "0xa"}
    frame |= {"input": "0x", "output": "0x01"} | changes
    return frame | ({"calls": list(calls)} if calls else {})


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_a_nested_call_becomes_frames_after_their_callers() -> None:
    trace = call(call(call(input="0x03"), input="0x02"), call(input="0x04"), input="0x01")
    frames = parse_call_tracer(encode(trace))
    assert [frame.input for frame in frames] == ["0x01", "0x02", "0x03", "0x04"]
    assert [frame.parent if frame.HasField("parent") else None for frame in frames] == [None, 0, 1, 0]
    first = frames[0]
    assert (first.type, first.from_address, first.to, first.value, first.gas, first.gas_used) == (
        "CALL",
        A,
        B,
        "1",
        "100",
        "10",
    )
    assert not first.HasField("error")


TREES = st.recursive(
    st.builds(lambda text: call(input=text, note={"calls": [1, {"calls": []}], "text": 'q"]}\\' + text}), st.text()),
    lambda inner: st.builds(lambda text, calls: call(*calls, input=text), st.text(), st.lists(inner, max_size=4)),
    max_leaves=20,
)


def flatten(frame: dict[str, Any], parent: int | None, out: list[tuple[int | None, str]]) -> list[Any]:
    index = len(out)
    out.append((parent, frame["input"] or "0x"))
    for inner in frame.get("calls", []):
        flatten(inner, index, out)
    return out


@given(TREES, st.sampled_from([None, 2]), st.booleans())
def test_any_tree_is_flattened_as_recursion_would(tree: dict[str, Any], indent: int | None, is_ascii: bool) -> None:
    frames = parse_call_tracer(json.dumps(tree, indent=indent, ensure_ascii=is_ascii).encode())
    found = [(frame.parent if frame.HasField("parent") else None, frame.input) for frame in frames]
    assert found == flatten(tree, None, [])


def test_a_thousand_levels_are_no_problem() -> None:
    depth = 1024
    head = encode(call())[:-1] + b', "calls": ['
    frames = parse_call_tracer(head * depth + encode(call()) + b"]}" * depth)
    assert len(frames) == depth + 1
    assert frames[-1].parent == depth - 1


def test_reasons_values_and_failed_creations() -> None:
    created = {"type": "CREATE", "from": A, "value": "0x0", "gas": "0x1", "gasUsed": "0x1", "input": "0x60"}
    frames = parse_call_tracer(
        encode(
            call(
                call(type="DELEGATECALL", value="0x9", error="execution reverted", output=REASON),
                call(type="STATICCALL", value=None, error="out of gas", output=None),
                created | {"error": "contract creation code storage out of gas"},
                {"type": "SELFDESTRUCT", "from": A, "to": B, "value": "0x7"},
                error="execution reverted",
                revertReason="said by the node",
            )
        )
    )
    assert [frame.value for frame in frames] == ["1", "0", "0", "0", "7"]
    assert [frame.revert_reason for frame in frames] == ["said by the node", "nope", "", "", ""]
    assert not frames[3].HasField("to")
    assert frames[3].output == "0x"
    assert frames[4].gas == "0"


def step(address: list[int], **changes: Any) -> dict[str, Any]:
    action = {"callType": "call", "from": A, "to": B, "value": "0x1", "gas": "0x64", "input": "0x"}
    base = {"action": action, "result": {"gasUsed": "0xa", "output": "0x01"}, "subtraces": 0, "type": "call"}
    return base | {"traceAddress": address} | changes


def test_a_flat_list_is_nested_again() -> None:
    creation = {"from": A, "gas": "0x9", "init": "0x60", "value": "0x2", "creationMethod": "create2"}
    destruction = {"address": A, "refundAddress": B, "balance": "0x5"}
    frames = parse_trace_list(
        encode(
            [
                step([1], action=creation, type="create", result={"address": B, "code": "0x00", "gasUsed": "0x3"}),
                step([0, 0], action={**step([])["action"], "callType": "delegatecall", "value": "0x7"}),
                step([]),
                step([0], error="Reverted", result=None),
                step([1, 0], action=destruction, type="suicide", result=None),
                {"action": {"author": A, "rewardType": "block"}, "result": None, "traceAddress": [], "type": "reward"},
            ]
        )
    )
    assert [(frame.type, frame.parent if frame.HasField("parent") else None) for frame in frames] == [
        ("CALL", None),
        ("CALL", 0),
        ("DELEGATECALL", 1),
        ("CREATE2", 0),
        ("SELFDESTRUCT", 3),
    ]
    assert [frame.value for frame in frames] == ["1", "1", "0", "2", "5"]
    assert (frames[1].error, frames[1].output, frames[1].gas_used) == ("Reverted", "0x", "0")
    assert (frames[3].to, frames[3].input, frames[3].output) == (B, "0x60", "0x00")


STEPS = {"gas": "0x0", "structLogs": [], "returnValue": "", "storage": {}}
"""What ganache 7.9.2 answers when it is asked for `callTracer`."""


@pytest.mark.parametrize(
    "result",
    [
        STEPS,
        {"gas": 21000, "failed": False, "returnValue": "", "structLogs": [{"op": "CALL", "pc": 0}]},
        [],
        [call()],
        "0x",
        7,
        None,
        {},
        call(call(), {"op": "ADD"}),
        call(value=7),
        call(to="0x12"),
    ],
)
def test_an_answer_of_another_shape_is_noticed(result: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_call_tracer(encode(result))


@pytest.mark.parametrize(
    "text", [b"{", b"{}{}", b'{"type":"CALL"', b'{"calls":[{]}', b"", b"[" * 3000, b'{"a":' * 3000]
)
def test_broken_json_is_noticed(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_call_tracer(text)


@pytest.mark.parametrize("result", [STEPS, [], [step([0])], [step([]), step([1, 0])], [step([]), step([])], [{}], "0x"])
def test_a_list_that_is_no_trace_is_noticed(result: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_trace_list(encode(result))


def test_a_node_that_gives_up_inside_a_result_is_heard() -> None:
    assert read_refusal(b'{"error":"execution timeout"}') == "execution timeout"
    assert read_refusal(encode(call(error="execution reverted"))) is None
    assert read_refusal(encode(STEPS)) is None
    assert read_refusal(b"[]") is None
