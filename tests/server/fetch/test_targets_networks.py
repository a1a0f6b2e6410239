"""Which addresses a stranger's URL may lead to."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.fetch.targets import is_public, public_except

CLOSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
OPEN = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.0.1",
    "172.32.0.1",
    "192.167.1.1",
    "223.255.255.1",
]
OPEN += ["2606:4700:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "2001:4860:4860::8888"]


@pytest.mark.parametrize("text", CLOSED)
def test_what_is_not_of_the_public_internet_is_closed(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", OPEN)
def test_the_public_internet_is_open(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses())
def test_nothing_is_open_that_the_standard_library_calls_special(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if is_public(address):
        plain = getattr(address, "ipv4_mapped", None) or address
        special = ("private", "loopback", "link_local", "multicast", "reserved", "unspecified")
        assert not [name for name in special if getattr(plain, f"is_{name}")]


@given(st.integers(0, 2**32 - 1))
def test_an_address_written_as_ipv6_is_no_more_open_than_itself(number: int) -> None:
    plain = ipaddress.IPv4Address(number)
    mapped = ipaddress.IPv6Address(b"\0" * 10 + b"\xff\xff" + plain.packed)
    assert is_public(mapped) == is_public(plain)
    for carrier in (
        ipaddress.IPv6Address(b"\0" * 12 + plain.packed),
        ipaddress.IPv6Address(bytes.fromhex("0064ff9b") + b"\0" * 8 + plain.packed),
        ipaddress.IPv6Address(bytes.fromhex("2002") + plain.packed + b"\0" * 10),
    ):
        assert not is_public(carrier)


def test_an_operator_closes_networks_of_their_own() -> None:
    admits = public_except((ipaddress.ip_network("8.8.8.0/24"), ipaddress.ip_network("2a00:1450::/32")))
    assert not admits(ipaddress.ip_address("8.8.8.8"))
    assert not admits(ipaddress.ip_address("::ffff:8.8.8.8"))
    assert not admits(ipaddress.ip_address("2a00:1450:4001::200e"))
    assert admits(ipaddress.ip_address("1.1.1.1"))
    assert not admits(ipaddress.ip_address("127.0.0.1"))
