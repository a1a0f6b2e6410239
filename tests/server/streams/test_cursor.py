from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import InvalidArgument
from server.streams.cursor import (
    MOST_MARKS,
    WHOLE,
    Cursor,
    Mark,
    decode_cursor,
    digest_source,
    encode_cursor,
    encode_marks,
    mark_of,
)

_LONGEST = 2048


@st.composite
def _cursors(draw: st.DrawFn) -> Cursor:
    steps = draw(st.lists(st.integers(1, 300), max_size=MOST_MARKS - 1))
    lowest = draw(st.integers(0, (1 << 63) - 1 - sum(steps)))
    numbers = [lowest]
    for step in steps:
        numbers.append(numbers[-1] + step)
    marks = tuple(Mark(number, draw(st.binary(min_size=8, max_size=8))) for number in reversed(numbers))
    return Cursor(marks, draw(st.integers(0, 1 << 40)), draw(st.binary(min_size=4, max_size=4)))


def _text(cursor: Cursor, chain: str = "ethereum") -> str:
    return encode_cursor(chain, cursor.number, encode_marks(cursor.marks), cursor.source, cursor.items)


@given(_cursors())
def test_a_cursor_is_read_as_it_was_written(cursor: Cursor) -> None:
    text = _text(cursor)
    assert decode_cursor("ethereum", text) == cursor
    assert len(text) <= _LONGEST
    assert text.isascii()
    assert "=" not in text


def test_a_cursor_of_many_blocks_is_short() -> None:
    marks = encode_marks(
        mark_of(number, f"0x{number:064x}") for number in range(20_000_000, 20_000_000 - MOST_MARKS, -1)
    )
    assert len(encode_cursor("ethereum", 20_000_000, marks, digest_source("blocks"))) < 820


@given(_cursors(), st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_is_no_cursor(cursor: Cursor, at: int, change: int) -> None:
    written = bytearray(base64.urlsafe_b64decode(_text(cursor) + "=="))
    written[at % len(written)] ^= change
    changed = base64.urlsafe_b64encode(written).decode().rstrip("=")
    with pytest.raises(InvalidArgument) as caught:
        decode_cursor("ethereum", changed)
    assert caught.value.field == "cursor"


@given(st.text(max_size=100))
def test_any_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        decode_cursor("ethereum", text)
    assert caught.value.field == "cursor"


@given(_cursors(), st.integers(1, 40))
def test_a_cut_cursor_is_refused(cursor: Cursor, cut: int) -> None:
    with pytest.raises(InvalidArgument):
        decode_cursor("ethereum", _text(cursor)[:-cut])


def test_a_cursor_of_another_chain_is_refused_by_the_chain_that_was_asked() -> None:
    cursor = Cursor((mark_of(5, "0x05"),))
    with pytest.raises(InvalidArgument, match="another chain than polygon"):
        decode_cursor("polygon", _text(cursor))


def test_sources_have_digests_of_their_own() -> None:
    assert digest_source("blocks") == digest_source("blocks")
    assert digest_source("blocks") != digest_source("logs")
    assert WHOLE == 0
