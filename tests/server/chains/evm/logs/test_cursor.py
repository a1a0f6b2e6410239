"""Cursors and windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.logs.cursor import Cursor, Window
from server.chains.evm.logs.entries import Place
from server.errors import InvalidArgument

NUMBERS = st.integers(0, 2**53 - 1)


def test_a_cursor_between_blocks_is_the_number_of_the_next_block() -> None:
    assert Cursor.parse("18000050") == Cursor(Place(18000051, 0))
    assert str(Cursor(Place(18000051, 0))) == "18000050"
    assert str(Cursor(Place(18000051, 7))) == "18000051:7"
    assert str(Cursor(Place(18000051, 0), 17990000)) == "18000051:0:17990000"
    assert Cursor.parse("18000051:0").top == 18000050


@given(NUMBERS, st.integers(0, 10**9 - 1), st.none() | NUMBERS)
def test_a_cursor_survives_its_text(block: int, index: int, low: int | None) -> None:
    cursor = Cursor(Place(block, index), low)
    if cursor.top < 0 or (low is not None and low > cursor.top):
        return
    assert Cursor.parse(str(cursor)) == cursor


@pytest.mark.parametrize(
    "text", ["", "-1", "0x10", "1:", ":1", "1:2:", "1:2:3:4", "1.5", "latest", "5:0:5", "5:1:6", "1" * 17, "٣"]
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Cursor.parse(text)
    assert caught.value.field == "cursor"


def test_a_window_carries_what_its_cursor_needs() -> None:
    assert Window(5, Place(9, 0)).cursor(Place(8, 3)) == "8:3"
    assert Window(5, Place(9, 0), carried=5).cursor(Place(8, 0)) == "8:0:5"
    assert Window(5, Place(5, 0)).top == 4
