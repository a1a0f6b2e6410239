"""The bytes of a request: what the URL and the headers of an endpoint come to, and nothing more."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.upstream.http import Address

JSON = {"Content-Type": "application/json", "Accept": "application/json"}


def lines(request: bytes) -> list[bytes]:
    head, _, _ = request.partition(b"\r\n\r\n")
    return head.split(b"\r\n")


def test_a_post_is_line_host_headers_length_body() -> None:
    request = Address("https://node.example/v2/key?a=1&b=%20#part", JSON).post(b'{"id":1}')
    assert request == (
        b"POST /v2/key?a=1&b=%20 HTTP/1.1\r\nHost: node.example\r\nContent-Type: application/json\r\n"
        b'Accept: application/json\r\nContent-Length: 8\r\n\r\n{"id":1}'
    )


@pytest.mark.parametrize(
    ("url", "line", "host"),
    [
        ("http://node.example", b"POST / HTTP/1.1", b"Host: node.example"),
        ("http://node.example:80/", b"POST / HTTP/1.1", b"Host: node.example"),
        ("https://node.example:80/", b"POST / HTTP/1.1", b"Host: node.example:80"),
        ("HTTP://NODE.Example:8545/A", b"POST /A HTTP/1.1", b"Host: node.example:8545"),
        ("http://node.example./", b"POST / HTTP/1.1", b"Host: node.example"),
        ("http://[::1]:8545/", b"POST / HTTP/1.1", b"Host: [::1]:8545"),
        ("http://bücher.example/ä?ö", b"POST /%C3%A4?%C3%B6 HTTP/1.1", b"Host: xn--bcher-kva.example"),
        ("http://h/a%2Fb", b"POST /a%2Fb HTTP/1.1", b"Host: h"),
        ("http://h/%0d%0aX-Evil:%201?%0D%0A", b"POST /%0D%0AX-Evil:%201?%0D%0A HTTP/1.1", b"Host: h"),
    ],
)
def test_urls(url: str, line: bytes, host: bytes) -> None:
    assert lines(Address(url, {}).post(b""))[:2] == [line, host]


@pytest.mark.parametrize("url", ["http://h/\r\nX-Evil: 1", "http://h/?\r\n\r\nGET / HTTP/1.1", "http://h/\nx"])
def test_no_url_brings_a_line_of_its_own(url: str) -> None:
    try:
        request = Address(url, {}).post(b"")
    except ValueError:
        return
    assert len(lines(request)) == 3
    assert b"\n" not in request.replace(b"\r\n", b"")


@pytest.mark.parametrize("url", ["", "node.example", "ftp://node.example/", "http:///path", "ws://node.example"])
def test_what_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="an endpoint's URL begins with"):
        Address(url, {})


def test_name_and_password_of_a_url_are_sent_as_basic_authentication() -> None:
    def sent(url: str, **headers: str) -> list[bytes]:
        return [line for line in lines(Address(url, headers).post(b"")) if line.lower().startswith(b"authorization")]

    def basic(text: bytes) -> list[bytes]:
        return [b"Authorization: Basic " + base64.b64encode(text)]

    assert sent("http://user:pass%3Aword@h/") == basic(b"user:pass:word")
    assert sent("http://user@h/") == basic(b"user:")
    assert sent("http://:secret@h/") == basic(b":secret")
    assert sent("http://%C3%BC:%E2%82%AC@h/") == basic("ü:€".encode())
    assert sent("http://%C3%BC@h/") == basic(b"\xfc:")
    assert sent("http://h/") == []
    assert sent("http://user:pass@h/", authorization="Bearer token") == [b"authorization: Bearer token"]
    assert b"user" not in Address("http://user:pass@h/", {}).post(b"").replace(b"Basic", b"")


def test_a_host_header_of_the_settings_takes_the_place_of_the_urls() -> None:
    assert lines(Address("http://127.0.0.1:80/", {"host": "node.example"}).post(b""))[1] == b"host: node.example"


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Key": "a\r\nX-Evil: 1"},
        {"X-Key": "a\nb"},
        {"X-Key": "a\rb"},
        {"X-Key": "a\x00b"},
        {"X-Key\r\nX-Evil": "a"},
        {"X Key": "a"},
        {"X-Key:": "a"},
        {"": "a"},
        {"Content-Length": "0"},
        {"transfer-encoding": "chunked"},
    ],
)
def test_headers_that_http_cannot_carry_are_refused_without_a_word_of_them(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"^a header that cannot be sent to an endpoint$"):
        Address("http://h/", headers)
    with pytest.raises(ValueError, match=r"^a header that cannot be sent to an endpoint$"):
        Address("http://h/", {}).get("/", (), list(headers.items()))


@given(
    headers=st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=12), max_size=3),
    url=st.text(max_size=12),
    path=st.text(max_size=12),
    query=st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=2),
)
def test_nothing_brings_more_lines_than_there_are_headers(
    headers: dict[str, str], url: str, path: str, query: list[tuple[str, str]]
) -> None:
    try:
        address = Address("http://h/" + url, headers)
        requests = [(address.post(b""), 3), (address.get("/" + path, query), 2)]
    except ValueError:
        return
    named = {name.lower() for name in headers}
    for request, own in requests:
        expected = own + len(headers) - ("host" in named)
        if own == 2:
            expected -= sum(name.lower() == "content-type" for name in headers)
        assert request.endswith(b"\r\n\r\n")
        assert len(lines(request)) == expected
        assert b"\n" not in request.replace(b"\r\n", b"")


def test_a_get_is_below_the_url_with_its_query_first_and_without_content_type() -> None:
    address = Address("https://node.example/base/?key=k", JSON)
    assert address.get("/cosmos/tx/A B", [("page.key", "a+b/c=="), ("x", "ü&")], [("x-height", "7")]) == (
        b"GET /base/cosmos/tx/A%20B?key=k&page.key=a%2Bb/c%3D%3D&x=%C3%BC%26 HTTP/1.1\r\nHost: node.example\r\n"
        b"Accept: application/json\r\nx-height: 7\r\n\r\n"
    )
    assert address.get("/a") == (
        b"GET /base/a?key=k HTTP/1.1\r\nHost: node.example\r\nAccept: application/json\r\n\r\n"
    )


def test_a_header_of_one_request_takes_the_place_of_the_endpoints() -> None:
    request = Address("http://h/", {"X-Height": "1", "X-Key": "k"}).get("/", (), [("x-height", "2")])
    assert lines(request)[1:] == [b"Host: h", b"X-Key: k", b"x-height: 2"]


def test_nothing_of_an_address_shows() -> None:
    address = Address("https://user:pass@secret-host.example/secret-key", {"X-Key": "secret"})
    for text in (repr(address), str(address), repr(address.origin), str(address.origin), f"{address.origin}"):
        assert "secret" not in text
        assert "pass" not in text
