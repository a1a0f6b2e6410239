from __future__ import annotations

from cli.faces import Ports
from cli.serve import base_url, greeting
from runtime.settings import ConsoleSettings, GrpcSettings, HttpSettings, Settings


def test_the_devnet_has_its_key_in_the_address() -> None:
    settings = Settings(profile="devnet")
    assert base_url(settings, Ports(8080, 50051)) == "http://127.0.0.1:8080/local"
    text = greeting(settings, Ports(8080, 50051), ["curl one", "curl two"])
    assert "http://127.0.0.1:8080/local/v1" in text
    assert "\n  curl one\n  curl two\n" in text


def test_elsewhere_the_demo_is_offered_and_no_devnet_key() -> None:
    text = greeting(Settings(), Ports(8080, 50051))
    assert "http://127.0.0.1:8080/demo/v1" in text
    assert "local" not in text
    assert "keys create" in text


def test_an_address_for_everybody_is_shown_as_one_that_can_be_used() -> None:
    settings = Settings(http=HttpSettings(host="0.0.0.0"), grpc=GrpcSettings(host="::"))
    text = greeting(settings, Ports(80, 443))
    assert "http://127.0.0.1:80/" in text
    assert "[::1]:443" in text
    settings = Settings(http=HttpSettings(host="fd00::1"), grpc=GrpcSettings(host="fd00::1"))
    text = greeting(settings, Ports(80, 443))
    assert "http://[fd00::1]:80/" in text
    assert "[fd00::1]:443" in text


def test_the_console_is_named_where_it_is_served() -> None:
    served, off = Settings(profile="devnet"), Settings(console=ConsoleSettings(enabled=False))
    assert "  Console   http://127.0.0.1:8080/  " in greeting(served, Ports(8080, 50051))
    assert "Console" not in greeting(off, Ports(8080, 50051))
