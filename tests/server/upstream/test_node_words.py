"""What of a node's own words callers may read: cut, without what belongs to the operator."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.upstream.jsonrpc import NodeError, decode_single
from server.upstream.node_words import MAX_DATA_CHARACTERS, MAX_MESSAGE_CHARACTERS, quote_node, secrets_of
from tests.each import each

KEY = "k3yk3yk3yk3yk3yk3y"
SECRETS = secrets_of(
    (f"https://operator:pa55word@node.internal.example/v2/{KEY}?apikey=4b9c4b9c4b9c",),
    {"Authorization": "Bearer t0kent0kent0ken"},
)


def quoted(message: str, data: Any = None) -> tuple[str, Any]:
    raw = None if data is None else json.dumps(data).encode()
    words = quote_node(NodeError(-32000, message, raw), SECRETS)
    assert words.code == -32000
    return words.message, None if words.data is None else json.loads(words.data)


@pytest.mark.parametrize(
    "text",
    [
        "execution reverted: ERC20: transfer amount exceeds balance",
        "invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go value of type common.Address",
        "missing value for required argument 1",
        "block #19000001 not found at 12:30:45, version v1.17.0",
        "header not found: 0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5",
        "std::runtime_error in core::module",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert quoted(text, {"reason": text, "codes": [1, None, True, 10**30]}) == (
        text,
        {"reason": text, "codes": [1, None, True, 10**30]},
    )


@pytest.mark.parametrize(
    "secret",
    [
        "https://eth.provider.example/v2/abc",
        "wss://eth.provider.example",
        "10.0.0.5",
        "10.0.0.5:8545",
        "[2001:db8::1]:8545",
        "2001:db8:0:1:2:3:4:5",
        "fe80::1",
        "geth-0.geth.default.svc:8545",
        "localhost:8545",
        "node.internal.example",
        "NODE.internal.EXAMPLE",
        KEY,
        "pa55word",
        "4b9c4b9c4b9c",
        "t0kent0kent0ken",
        "wp_abcdefghij",
    ],
)
def test_what_belongs_to_the_operator_is_taken_out(secret: str) -> None:
    message, data = quoted(f"dial tcp {secret}: connection refused", {"a": [f"at {secret}", {secret: 1}]})
    for text in (message, json.dumps(data)):
        assert secret.lower() not in text.lower()
        assert "8545" not in text
    assert message.startswith("dial tcp ")
    assert message.endswith("connection refused")


def test_hosts_that_were_looked_up_are_taken_out() -> None:
    message, _ = quoted("dial tcp: lookup geth-internal on 10.96.0.10:53: no such host")
    assert message == "dial tcp: lookup (address) on (address): no such host"


def test_words_of_the_url_that_are_no_keys_stay() -> None:
    secrets = secrets_of(("https://rpc.example/ext/bc/C/rpc/ethereum-mainnet",), {})
    words = quote_node(NodeError(None, "ethereum-mainnet has no rpc of that name", None), secrets)
    assert (words.code, words.message, words.data) == (None, "ethereum-mainnet has no rpc of that name", None)


def test_what_is_long_is_cut_and_stays_json() -> None:
    message, data = quoted("x" * 10_000, "0x" + "ab" * 5000)
    assert len(message) == MAX_MESSAGE_CHARACTERS
    assert message.endswith("…")
    assert len(data) == MAX_DATA_CHARACTERS
    assert data.startswith("0xabab")
    assert data.endswith("…")
    _, data = quoted("", {"trace": ["y" * 100] * 1000})
    assert data.startswith('{"trace": ["yyy')
    whole = {"reason": "z" * 500}
    assert quoted("", whole)[1] == whole


@each(range(3000, 4200, 7))
def test_no_half_of_a_secret_is_left_where_a_text_is_cut(start: int) -> None:
    long_key = "s3cret" * 20
    secrets = secrets_of((f"https://rpc.example/{long_key}",), {})
    # Hidden texts shrink, so that the end of what was read comes into sight.
    text = " ".join(["https://rpc.example/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] * 60)[:start] + " " + long_key * 3
    words = quote_node(NodeError(1, "", json.dumps(text).encode()), secrets)
    assert words.data is not None
    assert b"s3cret" not in words.data


def test_data_that_no_parser_of_ours_reads_is_text() -> None:
    for data in (b"[" * 2000 + b"]" * 2000, b"1" * 3000, b'"\\ud800"'):
        words = quote_node(NodeError(1, "", data), None)
        assert words.data is not None
        json.loads(words.data)
        assert len(words.data.decode()) <= MAX_DATA_CHARACTERS + 2


def whole(message: Any, data: Any = None) -> tuple[str, Any]:
    """Return what is handed on whole, of an error object as a node writes it."""
    error = {"code": 3, "message": message, "data": data}
    outcome = decode_single(json.dumps({"id": 1, "error": error}).encode(), 1)
    assert isinstance(outcome, NodeError)
    words = quote_node(outcome, SECRETS)
    assert words.whole is not None
    found = words.whole()
    assert found.code == 3
    return found.message, None if found.data is None else json.loads(found.data)


def test_a_whole_error_is_what_the_node_wrote() -> None:
    data = {"deep": [[[[[[[[[["0x" + "ab" * 40_000]]]]]]]]]], "number": 10**40, "none": None, "half": 0.5}
    assert whole("m" * 60_000, data) == ("m" * 60_000, data)
    assert whole("", "0x" + "00" * 500_000) == ("", "0x" + "00" * 500_000)
    assert whole(None) == ("", None)
    assert whole({"nested": 1})[0] == '{"nested": 1}'


def test_of_a_whole_error_addresses_and_keys_are_left_out() -> None:
    words = f"dial 10.0.0.5:8545 at https://node.internal.example/v2/{KEY} with {KEY} " * 2000
    message, data = whole(words, {"words": words, "apiKey": "abc", words: [words]})
    text = message + json.dumps(data)
    assert not any(secret in text for secret in ("10.0.0.5", "internal", KEY, '"abc"'))
    assert message.count("dial (address)") == 2000


def test_a_whole_error_has_a_mebibyte_a_member_at_most() -> None:
    message, data = whole("m" * 3_000_000, ["d" * 3_000_000])
    assert len(message) <= 500
    assert len(json.dumps(data)) <= (1 << 20) + 10


def test_of_a_rest_gateway_the_whole_answer_is_kept() -> None:
    body = b'{"code":5, "message":"no account at http://10.0.0.5:1317/x", "details":[{"big": 1e400}]}'
    words = quote_node(NodeError(5, "no account", None, body, 404), SECRETS)
    assert words.whole is not None
    found = words.whole()
    assert (found.code, found.status) == (5, 404)
    assert found.data is not None
    assert json.loads(found.data)["message"] == "no account at <url>"
    plain = body.replace(b" at http://10.0.0.5:1317/x", b"")
    words = quote_node(NodeError(5, "no account", None, plain, 404), SECRETS)
    assert words.whole is not None
    assert words.whole().data == plain


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
)


@given(st.text(), JSON)
def test_any_words_are_bounded_and_printable(message: str, data: Any) -> None:
    words = quote_node(NodeError(1, message, json.dumps(data).encode()), SECRETS)
    assert len(words.message) <= MAX_MESSAGE_CHARACTERS
    assert words.data is not None
    json.loads(words.data.decode())
