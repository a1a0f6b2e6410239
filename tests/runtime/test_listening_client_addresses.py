from __future__ import annotations

import pytest

from runtime.listening import client_network


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:4711", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:c000:207", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:DB8:0:0:ffff::1", "2001:db8::/64"),
        ("[2001:db8::1]:4711", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_what_counts_as_one_client(address: str, client: str) -> None:
    assert client_network(address) == client
