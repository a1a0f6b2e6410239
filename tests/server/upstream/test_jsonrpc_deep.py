"""Members of objects that nest more deeply than the parser goes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.upstream.failures import Failure
from server.upstream.jsonrpc import decode_single, split_members

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
NAMES = st.sampled_from(["id", "result", "error", "jsonrpc", "x"])


@given(st.dictionaries(NAMES, VALUES), st.sampled_from([None, 1]))
def test_members_are_those_that_a_parser_finds(value: dict[str, Any], indent: int | None) -> None:
    found = split_members(json.dumps(value, indent=indent).encode())
    assert {name: json.loads(text) for name, text in found.items()} == value


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"a":[}', b'{"a":1}{}', b"1", b'{"a":{}', b'"{"'])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        split_members(text)


def test_a_deep_result_is_read_and_a_deep_mess_is_not() -> None:
    deep = b'{"calls":[' * 1024 + b"{}" + b"]}" * 1024
    assert decode_single(b'{"jsonrpc":"2.0","id":7,"result":' + deep + b"}", 7) == deep
    assert decode_single(b'{"jsonrpc":"2.0", "result" : ' + deep + b' , "id": 7 }', 7) == deep
    for body in (b'{"id":8,"result":' + deep + b"}", b'{"id":7,"result":' + deep, b'{"id":7,"error":' + deep + b"}"):
        assert isinstance(decode_single(body, 7), Failure)


def test_a_text_of_brackets_alone_is_given_up_early() -> None:
    began = time.process_time()
    for text in (b"[" * 32_000_000, b'{"result":' * 3_000_000):
        with pytest.raises(ValueError, match="more deeply than any trace"):
            split_members(text)
        assert isinstance(decode_single(b'{"id":7,"result":' + text, 7), Failure)
    # Half a second: what the parser takes to refuse them. To the end of each it was a quarter of a minute.
    assert time.process_time() - began < 3
