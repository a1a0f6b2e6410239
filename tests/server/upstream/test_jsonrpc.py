from __future__ import annotations

import json
import tracemalloc
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.upstream.failures import Failure, Kind
from server.upstream.jsonrpc import NodeError, decode_batch, decode_single, encode_call, encode_request
from tests.each import each


def kind(outcome: object) -> Kind:
    assert isinstance(outcome, Failure)
    return outcome.kind


def test_a_request_is_complete_json() -> None:
    request = encode_request(7, encode_call("eth_call", [{"to": "0x1", "é": 'a"b'}, "latest", None, True, 2**60]))
    assert json.loads(request) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "eth_call",
        "params": [{"to": "0x1", "é": 'a"b'}, "latest", None, True, 2**60],
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":"0x1"}', b'"0x1"'),
        (b'{"result":null,"id":7}', b"null"),
        (b'{"id":"7","result":{"a": 1.0,"a":2}}', b'{"a": 1.0,"a":2}'),
        (b'{"id":7,"result":[],"error":null}', b"[]"),
        (b' \n{"id":7,"result":18446744073709551617} \n', b"18446744073709551617"),
        ('{"id":7,"result":"é"}'.encode(), '"é"'.encode()),
    ],
)
def test_results_are_the_nodes_own_bytes(body: bytes, expected: bytes) -> None:
    assert decode_single(body, 7) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (b'{"code":3,"message":"execution reverted","data":"0x08c3"}', NodeError(3, "execution reverted", b'"0x08c3"')),
        (b'{"code":-32000,"message":"x"}', NodeError(-32000, "x", None)),
        (b'{"code":"-32000","message":"x","data":null}', NodeError(-32000, "x", None)),
        (b'"just text"', NodeError(None, "just text", None)),
        (b'{"message":{"nested":1}}', NodeError(None, '{"nested":1}', None)),
        (b"{}", NodeError(None, "", None)),
        (b"[1]", NodeError(None, "[1]", None)),
        (b'{"code":1.5,"message":null}', NodeError(None, "", None)),
        (
            b'{"code":1,"message":"dial https://user:key@node.example/v2/KEY failed"}',
            NodeError(1, "dial (address) failed", None),
        ),
    ],
)
def test_errors_of_any_shape_are_errors(error: bytes, expected: NodeError) -> None:
    assert decode_single(b'{"id":7,"error":' + error + b"}", 7) == expected
    assert decode_single(b'{"id":null,"result":1,"error":' + error + b"}", 7) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", Kind.NOT_JSON_RPC),
        (b"<html>", Kind.NOT_JSON_RPC),
        (b'{"id":7,"result":"0x', Kind.NOT_JSON_RPC),
        (b'{"id":7}', Kind.NOT_JSON_RPC),
        (b'[{"id":7,"result":1}]', Kind.NOT_JSON_RPC),
        (b'{"id":8,"result":1}', Kind.WRONG_ID),
        (b'{"id":7.0,"result":1}', Kind.WRONG_ID),
        (b'{"result":1}', Kind.WRONG_ID),
        (b'{"id":true,"result":1}', Kind.WRONG_ID),
        (b'{"id":7,"result":"\xff"}', Kind.NOT_JSON_RPC),
        (b'{"id":7,"result":"\xed\xa0\x80"}', Kind.NOT_JSON_RPC),
        (b'\xef\xbb\xbf{"id":7,"result":"0x1"}', Kind.NOT_JSON_RPC),
        (b'{"id":7,"result":' + b"[" * 100_000, Kind.NOT_JSON_RPC),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(body: bytes, expected: Kind) -> None:
    assert kind(decode_single(body, 7)) is expected


def test_a_batch_is_matched_by_id_in_any_order() -> None:
    body = b'[{"id":3,"result":"c"},{"id":1,"result":"a"},{"id":99,"result":"x"},{"id":2,"error":{"code":3}}]'
    assert decode_batch(body, [1, 2, 3, 4]) == {1: b'"a"', 2: NodeError(3, "", None), 3: b'"c"'}


def test_one_error_for_a_batch_is_a_refusal() -> None:
    refusal = b'{"id":null,"error":{"code":-32600,"message":"batch too large"}}'
    assert decode_batch(refusal, [1, 2]) == NodeError(-32600, "batch too large", None)
    assert decode_batch(b"[" + refusal + b"]", [1, 2]) == NodeError(-32600, "batch too large", None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"[]", Kind.MISSING),
        (b'[{"id":9,"result":1}]', Kind.WRONG_ID),
        (b'{"id":1,"result":1}', Kind.NOT_JSON_RPC),
        (b"[1,2]", Kind.NOT_JSON_RPC),
        (b"<html>", Kind.NOT_JSON_RPC),
    ],
)
def test_a_batch_without_any_answer_fails_as_a_whole(body: bytes, expected: Kind) -> None:
    assert kind(decode_batch(body, [1, 2])) is expected


@given(st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    decode_single(body, 1)
    decode_batch(body, [1, 2])


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["id", "result", "error", "code", "message", "data"]), _json) | _json)
def test_no_json_raises(document: object) -> None:
    body = json.dumps(document).encode()
    decode_single(body, 1)
    decode_batch(body, [1, 2])
    decode_batch(b"[" + body + b"]", [1, 2])


@given(_json)
def test_every_result_comes_back_byte_for_byte(document: object) -> None:
    result = json.dumps(document).encode()
    assert decode_single(b'{"jsonrpc":"2.0","id":5,"result":' + result + b"}", 5) == result
    assert decode_batch(b'[{"id":5,"result":' + result + b"}]", [5]) == {5: result}


def test_a_batch_may_hold_errors_of_several_shapes() -> None:
    body = b'[{"id":1,"error":"odd"},{"id":2,"error":{"code":3,"message":"m"}},{"id":3,"error":null,"result":1}]'
    assert decode_batch(body, [1, 2, 3]) == {1: NodeError(None, "odd", None), 2: NodeError(3, "m", None), 3: b"1"}


@each(product(["a", "\0", "é", "€", "😀", '"', "\\", "\n", "ab\0"], [True, False], range(13)))
def test_of_a_long_message_the_beginning_is_reported(unit: str, is_escaped: bool, start: int) -> None:
    """Wherever it is cut: within a character, an escape or a pair of them."""
    message = "x" * start + unit * 50_000
    error = {"code": 3, "message": message, "data": "0x00"}
    body = json.dumps({"id": 7, "error": error}, ensure_ascii=is_escaped).encode()
    assert decode_single(body, 7) == NodeError(3, message[:500], b'"0x00"')


@pytest.mark.parametrize("message", [["word"] * 20_000, {"a": "word " * 20_000}])
def test_of_a_long_message_that_is_no_text_the_beginning_is_reported(message: object) -> None:
    body = json.dumps({"id": 7, "error": {"message": message}}).encode()
    assert decode_single(body, 7) == NodeError(None, json.dumps(message)[:500], None)
    assert decode_single(json.dumps({"id": 7, "error": [message]}).encode(), 7) == NodeError(
        None, json.dumps([message])[:500], None
    )


def test_a_long_message_is_not_copied() -> None:
    """Nodes repeat a megabyte of revert data in the message, each byte as an escape."""
    data = "0x" + "00" * 100_000
    error = {"code": 3, "message": "execution reverted: " + "\0" * 1_000_000, "data": data}
    alone = json.dumps({"id": 7, "error": error}).encode()
    batch = b"[%b]" % alone
    for decode in (lambda: decode_single(alone, 7), lambda: decode_batch(batch, [7])):
        tracemalloc.start()
        decode()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2 * len(data)
