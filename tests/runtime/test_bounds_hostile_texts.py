"""Texts that strangers write cost time in proportion to their length, whatever is in them.

A step that starts anew at every character of a text takes minutes for a long one; one that goes through it takes
milliseconds. The bound is between the two, in processor time, far from either.
"""

from __future__ import annotations

import contextlib
import time
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from runtime.bounds import nests_too_deeply
from runtime.logs import redact
from server.upstream.jsonrpc import decode_batch, decode_single, describe_text, split_members
from tests.each import each
from transcoder.errors import Failure
from transcoder.requests import InvalidItem, outline, read_item

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 150_000
SECONDS = 2.0

PIECES = (
    *(
        '\\"',
        '"',
        "\\",
        "[",
        "]",
        "{",
        "[]",
        '{"a":',
        "a",
        "a.",
        "a-",
        "a://",
        "://",
        " ",
        "\n",
        "0",
        "1,",
        "0x",
        "'",
        "(",
    ),
    *("/", "=", ",", ":", "é", "http", "%3a", "bearer ", "host ", "wp_"),
)


def _items(outlined: Any) -> Any:
    return outlined if isinstance(outlined, list) else [outlined]


@pytest.mark.slow
@each(product(("", "[" * 65, "{" * 65, '"', '{"x":'), PIECES, ("", "\\", '"')))
def test_a_long_text_takes_no_minutes(start: str, piece: str, end: str) -> None:
    text = start + piece * (SIZE // len(piece)) + end
    body = text.encode()
    steps: dict[str, Callable[[], object]] = {
        "nesting": lambda: nests_too_deeply(body),
        "envelope": lambda: [read_item(raw) for raw in _items(outline(body))],
        "members": lambda: split_members(body),
        "answer": lambda: decode_single(body, 1),
        "batch": lambda: decode_batch(body, [1, 2]),
        "words": lambda: describe_text(text),
        "log": lambda: redact(text[:100_000]),
    }
    for name, step in steps.items():
        began = time.process_time()
        with contextlib.suppress(ValueError, Failure, InvalidItem):
            step()
        assert time.process_time() - began < SECONDS, name


def test_the_words_of_a_node_tell_no_address() -> None:
    reported = describe_text("cannot reach https://user:secret@node.example/key?x=1 now, nor wss://b.example/key2")
    assert reported == "cannot reach (address) now, nor (address)"
    for before in range(7_950, 8_010):
        assert "secret" not in describe_text("x" * before + " https://secret/" + "y" * 100)
    assert describe_text("https://secret/" + "y" * 10_000) == "(address)"
    assert len(describe_text("word " * 10_000)) == 500


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (b"[" * 65 + b'"' + b"]" * 65, True),
        (b'"' + b"[" * 65, False),
        (b'"\\' + b"[" * 65, False),
        (b'["\\"' + b"[" * 65 + b'"]', False),
        (b'"a"' + b"[" * 65, True),
    ],
)
def test_a_string_that_does_not_end_is_a_string_to_the_end(text: bytes, deep: bool) -> None:
    assert nests_too_deeply(text) is deep
