"""Chains and the endpoints they are read from.

`[sources.<name>]` and `[prices]` configure what is read besides chains, and what is kept of it.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from hashlib import sha256
from pathlib import Path  # noqa: TC003 - pydantic evaluates the annotation
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, SecretStr, model_validator

from runtime.config_errors import Refusal
from runtime.settings.secrets import Section, read_variable
from runtime.settings.values import (
    Duration,
    EndpointUrl,
    JsonOrTable,
    Label,
    Networks,
    ProxyUrl,
    PushUrl,
    Rate,
    TcpListen,
    split_list,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


EndpointKind = Literal["jsonrpc", "rest", "comet", "core", "esplora", "scan"]

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FRAMING = frozenset({"content-length", "transfer-encoding"})


class RouteSettings(Section):
    """How what is asked over HTTP is reached: through which proxy, trusting whom, showing which certificate."""

    secret_members: ClassVar[tuple[str, ...]] = ("proxy",)

    proxy: ProxyUrl | None = Field(
        default=None,
        description="HTTP proxy that connections are opened through by `CONNECT`, for example "
        "`http://name:password@proxy.example.org:3128`; `direct` is none. Treated as a secret. Unset at an endpoint "
        "means `outbound.proxy`.",
    )
    proxy_env: str | None = Field(
        default=None, description="Environment variable that holds the proxy's URL, instead of `proxy`."
    )
    proxy_file: str | None = Field(default=None, description="File that holds the proxy's URL, instead of `proxy`.")
    ca: Path | None = Field(
        default=None,
        description="File of certificate authorities (PEM) that https addresses are checked by, instead of the "
        "system's. An endpoint that sets `ca` or `client_certificate` takes neither from `outbound`.",
    )
    client_certificate: Path | None = Field(
        default=None,
        description="File of the certificate (PEM, with its chain) that the gateway shows where a server asks for one. "
        "Certificates are read at the start.",
    )
    client_key_file: Path | None = Field(
        default=None,
        description="File of the certificate's private key (PEM, without passphrase), where it does not stand in "
        "`client_certificate`. Its path is never shown.",
    )

    _tls: ssl.SSLContext | None = PrivateAttr(default=None)
    _tls_digest: bytes = PrivateAttr(default=b"")

    @property
    def route_key(self) -> tuple[object, ...]:
        """What is equal where things are asked in the same way, wherever that was read from; holds secrets."""
        return None if self.proxy is None else self.proxy.get_secret_value(), self._tls_digest

    @property
    def tls(self) -> ssl.SSLContext | None:
        """What certificates are checked by and which one is shown, None where nothing is set."""
        return self._tls

    @model_validator(mode="after")
    def _load_certificates(self) -> Self:
        if self.client_key_file is not None and self.client_certificate is None:
            fix = "a key needs its certificate: add client_certificate"
            raise Refusal(fix, member="client_key_file", value="(hidden)")
        if self.ca is None and self.client_certificate is None:
            return self
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError):
            fix = "give a readable file that holds certificates in PEM"
            raise Refusal(fix, member="ca", value=f'"{self.ca}"') from None
        context.set_alpn_protocols(["http/1.1"])
        if self.client_certificate is not None:
            try:
                # Without an answer of its own the library asks for a passphrase at the terminal.
                context.load_cert_chain(self.client_certificate, self.client_key_file, password=lambda: "")
            except (OSError, ValueError):
                fix = "give readable files of a certificate and of its own private key, in PEM and without passphrase"
                raise Refusal(fix, member="client_certificate", value=f'"{self.client_certificate}"') from None
        files = (self.ca, self.client_certificate, self.client_key_file)
        self._tls_digest = sha256(b"\0".join(file.read_bytes() for file in files if file is not None)).digest()
        self._tls = context
        return self


class RemoteSettings(RouteSettings):
    """An address that is asked over HTTP, with the name by which it is known.

    After validation `url` is always set, wherever it came from; `headers` holds the values of `headers_env`.
    """

    secret_members: ClassVar[tuple[str, ...]] = ("url", "proxy")

    label: Label = Field(description="Name by which logs, metrics and errors know the endpoint; unique here.")
    url: EndpointUrl = Field(
        default=SecretStr(""), description="Address, http or https. Treated as a secret: it is never shown."
    )
    url_env: str | None = Field(default=None, description="Environment variable that holds the URL, instead of `url`.")
    url_file: str | None = Field(default=None, description="File that holds the URL, instead of `url`.")
    headers_env: Annotated[dict[str, str], JsonOrTable] = Field(
        default_factory=dict,
        description="Request headers to send, each with the environment variable that holds its value, for example "
        '`{ Authorization = "NODE_TOKEN" }`.',
    )
    weight: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="How much the endpoint is preferred: its measured latency counts divided by this.",
    )
    rate: Rate | None = Field(
        default=None, description="Most requests per second to send to the endpoint; unset means no limit."
    )
    trace: bool = Field(
        default=False,
        description="Whether the endpoint gets a `traceparent` header with every request while `[telemetry]` is on: "
        "for nodes of your own that continue traces. Others learn nothing of your requests.",
    )

    _headers: dict[str, SecretStr] = PrivateAttr(default_factory=dict)

    @property
    def headers(self) -> Mapping[str, SecretStr]:
        """The headers to send with every request, by name."""
        return self._headers

    @property
    def route_key(self) -> tuple[object, ...]:
        """The same with label, address and headers."""
        headers = tuple((name, value.get_secret_value()) for name, value in self.headers.items())
        return self.label, self.url.get_secret_value(), headers, *super().route_key

    @model_validator(mode="before")
    @classmethod
    def _require_url(cls, data: Any) -> Any:
        if isinstance(data, dict) and not any(data.get(name) is not None for name in ("url", "url_env", "url_file")):
            raise Refusal("give url, url_env or url_file", member="url", value="")
        return data

    @model_validator(mode="after")
    def _read_headers(self) -> Self:
        for name, variable in self.headers_env.items():
            if not _HEADER.fullmatch(name):
                raise Refusal("give header names such as Authorization or x-api-key", member="headers_env", value=name)
            if name.lower() in _FRAMING:
                raise Refusal(
                    "leave it out: the gateway states how long a request is", member="headers_env", value=name
                )
            value = read_variable(variable, f"headers_env.{name}")
            if any(ord(character) < 32 or ord(character) == 127 for character in value):
                fix = f"the value of {variable} holds control characters: set it to one line of text"
                raise Refusal(fix, member=f"headers_env.{name}", value=variable)
            self._headers[name] = SecretStr(value)
        return self


class EndpointSettings(RemoteSettings):
    """One node or provider that a chain is read from (decisions section 6)."""

    secret_members: ClassVar[tuple[str, ...]] = ("url", "ws_url", "proxy")

    kind: EndpointKind = Field(
        default="jsonrpc",
        description="Interface that the endpoint speaks: `jsonrpc` (EVM, Solana, Starknet), `rest` and `comet` "
        "(Cosmos), `core` and `esplora` (Bitcoin). `scan` is a Bitcoin node that may be asked to go through all "
        "unspent outputs for a balance (`scantxoutset`), which takes it minutes; without such an endpoint none ever "
        "is.",
    )
    ws_url: PushUrl | None = Field(
        default=None,
        description="WebSocket address of the same node, ws or wss, where it announces new blocks (`eth_subscribe` of "
        "EVM chains): while a stream follows the chain, blocks are read once they are announced and not at the next "
        "poll. It is reached as `url` is, with the same headers. Treated as a secret.",
    )
    ws_url_env: str | None = Field(
        default=None, description="Environment variable that holds that address, instead of `ws_url`."
    )
    ws_url_file: str | None = Field(default=None, description="File that holds that address, instead of `ws_url`.")

    @property
    def route_key(self) -> tuple[object, ...]:
        """The same with the address of announcements."""
        return *super().route_key, None if self.ws_url is None else self.ws_url.get_secret_value()


class ChainSettings(Section):
    """What the configuration says about one chain; its endpoints replace the built-in public ones."""

    endpoints: Annotated[tuple[EndpointSettings, ...], JsonOrTable] = Field(
        description="The endpoints to read the chain from. They replace the built-in ones."
    )
    hedge: bool = Field(
        default=False,
        description="Whether a cheap read that takes longer than its endpoint's 95th percentile is asked of a second "
        "endpoint as well: shorter waits for up to one more request in twenty reads.",
    )

    mines_at_will: bool | None = Field(
        default=None,
        description="Whether the endpoints are local nodes that make blocks at will: then neither the age of their "
        "newest block nor a jump to a far higher one says anything. Unset means: in the profile `devnet`.",
    )

    @model_validator(mode="after")
    def _check_endpoints(self) -> ChainSettings:
        if not self.endpoints:
            fix = "list at least one endpoint, or leave the chain out to use its built-in endpoints"
            raise Refusal(fix, member="endpoints", value="[]")
        seen: set[str] = set()
        for position, endpoint in enumerate(self.endpoints):
            if endpoint.label in seen:
                fix = "two endpoints of the chain have this label: give each its own"
                raise Refusal(fix, member=f"endpoints[{position}].label", value=f'"{endpoint.label}"')
            seen.add(endpoint.label)
        if self.hedge and len(self.endpoints) < 2:
            fix = "a hedge needs a second endpoint: add one, or remove hedge"
            raise Refusal(fix, member="hedge", value="true")
        return self


SOURCES = (
    "defillama",
    "coingecko",
    "frankfurter",
    "jupiter",
    "hyperliquid",
    "dydx",
    "morpho",
    "pendle",
    "beefy",
    "kong",
)
"""The off-chain sources that can be configured."""


class SourceSettings(Section):
    """What the configuration says about one off-chain source; its endpoints replace the built-in public ones."""

    endpoints: Annotated[tuple[RemoteSettings, ...], JsonOrTable] = Field(
        description="The endpoints to ask, in the order of preference, as for chains but without `kind`. They replace "
        "the built-in ones; an empty list switches the source off."
    )
    coins: Annotated[dict[str, str], JsonOrTable] = Field(
        default_factory=dict,
        description="Ids that coins have there, by token symbol, besides the built-in ones or instead of them, for "
        'example `{ SSS = "some-coin" }`. For sources of prices.',
    )

    @model_validator(mode="after")
    def _check_labels(self) -> SourceSettings:
        seen: set[str] = set()
        for position, endpoint in enumerate(self.endpoints):
            if endpoint.label in seen:
                fix = "two endpoints of the source have this label: give each its own"
                raise Refusal(fix, member=f"endpoints[{position}].label", value=f'"{endpoint.label}"')
            seen.add(endpoint.label)
        return self

    @model_validator(mode="after")
    def _check_coins(self) -> SourceSettings:
        for symbol, coin in self.coins.items():
            if not coin or not coin.isascii() or not coin.isprintable() or set(coin) & set(", /?#"):
                fix = "give the id that the coin has at the source, without spaces, commas and slashes"
                raise Refusal(fix, member=f"coins.{symbol}", value=f'"{coin}"')
        return self


class PricesSettings(Section):
    """Prices of tokens."""

    collect_every: Duration | None = Field(
        default=None,
        ge=0,
        le=24 * 3600,
        description="How often every price is noted in the database, from which getPriceHistory answers; 0 switches "
        "that off. Unset means every five minutes, and on the devnet never. Of several gateways on one database one "
        "collects.",
    )
    keep: Duration = Field(
        default=48 * 3600.0,
        ge=3600,
        le=30 * 24 * 3600,
        description="How long single observations stay in the database. Highest prices of whole days stay 400 days.",
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
