"""Addresses of gateways, and when a key may be sent there."""

from __future__ import annotations

from typing import Any

import pytest
from waypost.target import is_local, parse_target


def parsed(address: str, key: str | None = "secret", **given: Any) -> tuple[str, str, str | None, bool]:
    target = parse_target(address, key, given.get("transport"), given.get("tls"), None)
    return target.transport, target.address, target.key, target.tls


@pytest.mark.parametrize(
    "address",
    ["localhost:50051", "127.0.0.1:1", "[::1]:50051", "unix:/run/waypost.sock", "dns:///localhost:50051", "127.9.9.9"],
)
def test_this_machine_needs_no_encryption(address: str) -> None:
    assert is_local(address)
    assert parsed(address) == ("grpc", address, "secret", False)


@pytest.mark.parametrize(
    "address", ["gateway.example:443", "10.0.0.1:50051", "localhost.example:1", "[2001:db8::1]:1", "dns:///a.example:1"]
)
def test_every_other_machine_is_spoken_to_encrypted_unless_asked(address: str) -> None:
    assert parsed(address) == ("grpc", address, "secret", True)
    assert parsed(address, tls=False)[3] is False


def test_a_url_is_json_rpc_and_may_hold_the_key() -> None:
    found = ("jsonrpc", "https://gateway.example", "secret", True)
    assert parsed("https://gateway.example/secret/v1", None) == found
    assert parsed("https://gateway.example/secret/v1") == found
    assert parsed("https://gateway.example") == found
    assert parsed("gateway.example", transport="jsonrpc") == found
    assert parsed("http://localhost:8080/secret/v1", None) == ("jsonrpc", "http://localhost:8080", "secret", False)
    assert parsed("localhost:8080", transport="jsonrpc")[1] == "http://localhost:8080"
    assert parsed("http://gateway.example", tls=False)[1:] == ("http://gateway.example", "secret", False)


@pytest.mark.parametrize(
    ("address", "given"),
    [
        ("http://gateway.example/secret/v1", {}),
        ("https://gateway.example/other/v1", {}),
        ("https://gateway.example/a/b/v1", {}),
        ("https://user:word@gateway.example", {}),
        ("https://gateway.example/secret/v1?x=1", {}),
        ("http://localhost:8080", {"tls": True}),
        ("https://gateway.example", {"transport": "grpc"}),
    ],
)
def test_a_key_in_the_clear_and_contradictions_are_refused(address: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"https|scheme") as caught:
        parsed(address, **given)
    assert "secret" not in str(caught.value)
