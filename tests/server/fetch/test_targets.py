"""URLs held against the rules before anything is looked up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.fetch import FetchRefused
from server.fetch.targets import Targets

TARGETS = Targets(allow=("127.0.0.1:8088", "ipfs:8080", "[::1]:9000"), ports=(443,))

REFUSED = [
    "",
    "https://",
    "https:///path",
    "//example.org/",
    "example.org/x",
    "/etc/passwd",
    "file:///etc/passwd",
    "ftp://example.org/",
    "gopher://example.org:70/_x",
    "javascript:alert(1)",
    "http://example.org/",
    "HTTP://example.org/",
    "https://user:password@example.org/",
    "https://user@example.org/",
    "https://example.org:80/",
    "https://example.org:22/",
    "https://example.org:0/",
    "https://example.org:99999/",
    "https://example.org:x/",
    "https://example.org\\@127.0.0.1/",
    "https://example.org/\r\nHost: other",
    "https://exa\tmple.org/",
    "https://example.org\x00.other.org/",
    "https://[::1/",
    "https://" + "a" * 9000,
    "http://127.0.0.1:8089/",
    "http://127.0.0.1/",
    "http://[::1]:9001/",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_against_the_rules_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(FetchRefused) as caught:
        TARGETS.parse(text)
    assert "example" not in caught.value.message
    assert "password" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("https://example.org/a%20b?c=d#fragment", "example.org"),
        ("https://EXAMPLE.org:443", "example.org"),
        ("  https://example.org/with space.json ", "example.org"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://8.8.8.8/", "8.8.8.8"),
        ("https://[2606:4700::1111]/", "2606:4700::1111"),
    ],
)
def test_other_urls_are_taken_apart(text: str, host: str) -> None:
    target = TARGETS.parse(text)
    assert target.host == host
    assert target.is_secure
    assert not target.is_allowed
    assert not target.url.raw_fragment


@pytest.mark.parametrize(
    "text", ["http://127.0.0.1:8088/x", "http://ipfs:8080/", "http://IPFS:8080/", "http://[::1]:9000"]
)
def test_configured_hosts_are_allowed_with_their_port_over_http(text: str) -> None:
    assert TARGETS.parse(text).is_allowed


@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        ("/other", "https://example.org/other"),
        ("other?x=1#y", "https://example.org/folder/other?x=1"),
        ("//elsewhere.org/z", "https://elsewhere.org/z"),
        ("https://elsewhere.org/z", "https://elsewhere.org/z"),
    ],
)
def test_redirects_may_be_relative(location: str, leads_to: str) -> None:
    assert str(TARGETS.follow(TARGETS.parse("https://example.org/folder/x"), location).url) == leads_to


@pytest.mark.parametrize(
    "location",
    [
        "http://example.org/",
        "http://127.0.0.1:8088/",
        "file:///etc/passwd",
        "//user:x@example.org/",
        "//example.org:22/",
    ],
)
def test_redirects_follow_the_same_rules_and_never_to_http(location: str) -> None:
    with pytest.raises(FetchRefused):
        TARGETS.follow(TARGETS.parse("https://example.org/folder/x"), location)


@given(st.text(max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    start = TARGETS.parse("https://example.org/folder/x")
    for read in (
        lambda: TARGETS.parse(text),
        lambda: TARGETS.parse("https://" + text),
        lambda: TARGETS.follow(start, text),
    ):
        try:
            target = read()
        except FetchRefused:
            continue
        assert target.is_secure
        assert target.url.port == 443
        assert "@" not in target.url.raw_authority
