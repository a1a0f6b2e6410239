"""`data:` URLs as contracts write them."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.fetch import parse_data_url

DOCUMENT = b'{"name":"100% #1","image":"data:image/svg+xml;utf8,<svg/>"}'


@pytest.mark.parametrize(
    ("url", "content_type"),
    [
        ("data:application/json;base64," + base64.b64encode(DOCUMENT).decode(), "application/json"),
        ("DATA:Application/JSON;charset=utf-8;BASE64," + base64.b64encode(DOCUMENT).decode(), "application/json"),
        ("data:;base64," + base64.urlsafe_b64encode(DOCUMENT).decode().rstrip("="), "text/plain"),
        ("data:application/json;base64," + "\n".join(base64.b64encode(DOCUMENT).decode()), "application/json"),
        ("data:application/json;utf8," + DOCUMENT.decode(), "application/json"),
        ("data:application/json," + DOCUMENT.decode(), "application/json"),
        ("data:," + DOCUMENT.decode(), "text/plain"),
    ],
)
def test_content_and_type(url: str, content_type: str) -> None:
    found = parse_data_url(url)
    assert found is not None
    assert found.content_type == content_type
    assert found.candidates[0] == DOCUMENT


def test_percent_encoded_text_has_two_readings_the_literal_one_first() -> None:
    found = parse_data_url("data:application/json,%7B%22name%22%3A%22100%25%22%7D")
    assert found is not None
    assert found.candidates == (b"%7B%22name%22%3A%22100%25%22%7D", b'{"name":"100%"}')


@pytest.mark.parametrize(
    "url", ["", "data:", "data:application/json;base64", "data:;base64,@@@@", "https://x", "data:;base64,a"]
)
def test_what_is_no_data_url(url: str) -> None:
    assert parse_data_url(url) is None


@given(st.binary())
def test_any_bytes_survive_base64(content: bytes) -> None:
    found = parse_data_url("data:x/y;base64," + base64.b64encode(content).decode())
    assert found is not None
    assert found.candidates == (content,)


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    parse_data_url("data:" + text)
    parse_data_url("data:;base64," + text)
