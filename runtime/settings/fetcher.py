"""`[fetcher]`: how far URLs are followed that contracts, or servers they name, have chosen."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import BeforeValidator, Field

from runtime.config_errors import Refusal
from runtime.settings.secrets import Section
from runtime.settings.values import (
    Duration,
    Networks,
    TcpListen,
    split_list,
)

_MEBIBYTE = 1 << 20


def _read_ports(value: object) -> object:
    listed = split_list(value)
    if not isinstance(listed, list | tuple) or not listed:
        raise Refusal("give a list of ports, for example [443]")
    return listed


_Allowed = Annotated[tuple[TcpListen, ...], BeforeValidator(split_list)]
_Ports = Annotated[tuple[Annotated[int, Field(ge=1, le=65535)], ...], BeforeValidator(_read_ports)]


class FetcherSettings(Section):
    """Fetching of NFT documents and of off-chain name records, whose addresses come from contracts."""

    allow: _Allowed = Field(
        default=(),
        description="Hosts with their ports, for example `127.0.0.1:8088`, that may be asked although they are "
        "private, over http too. Any contract can then make the gateway send them requests.",
    )
    ports: _Ports = Field(default=(443,), description="Ports that other hosts may be asked at.")
    refuse: Networks = Field(
        default=(),
        description="Networks that are never asked, besides those that are not public: your own with public addresses.",
    )
    timeout: Duration = Field(
        default=8.0, ge=0.1, le=60, description="Longest that one fetch may take, redirects included."
    )
    max_bytes: int = Field(
        default=2 * _MEBIBYTE,
        ge=1024,
        le=32 * _MEBIBYTE,
        description="Longest document that is read, in bytes, before and after decompression.",
    )

    @property
    def closed_networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """`refuse` as networks."""
        return tuple(ipaddress.ip_network(network) for network in self.refuse)
