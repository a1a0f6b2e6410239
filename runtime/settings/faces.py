"""The tables of the faces that callers reach: JSON-RPC with its console, gRPC, and a transcoder between them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, SecretStr, model_validator

from runtime.config_errors import Refusal
from runtime.settings.secrets import Section
from runtime.settings.tls import TlsClientSettings, TlsSettings
from runtime.settings.values import (  # noqa: TC001 - pydantic reads the annotations
    Duration,
    GrpcHost,
    Host,
    Listen,
    Networks,
    Origins,
    Port,
    Target,
)

MEBIBYTE = 1 << 20
CREDENTIAL_LENGTH = 16


def _check_credential(value: SecretStr | None) -> SecretStr | None:
    if value is not None and len(value.get_secret_value()) < CREDENTIAL_LENGTH:
        raise Refusal(f"use at least {CREDENTIAL_LENGTH} characters, for example from `openssl rand -hex 32`")
    return value


Credential = Annotated[SecretStr | None, AfterValidator(_check_credential)]


class HttpSettings(Section):
    """The JSON-RPC face."""

    host: Host = Field(default="127.0.0.1", description="Address to listen on; `0.0.0.0` for every interface.")
    port: Port = Field(default=8080, description="Port of the JSON-RPC face; 0 picks a free one.")
    trusted_proxies: Networks = Field(
        default=(),
        description="Networks of the reverse proxies whose X-Forwarded-For is believed when the demo limits a client. "
        "They may have any number of connections.",
    )
    max_body_bytes: int = Field(
        default=MEBIBYTE, ge=1024, le=64 * MEBIBYTE, description="Largest request body that is read, in bytes."
    )
    cors_origins: Origins = Field(
        default=(),
        description='Web origins that browsers may call from; `["*"]` for every origin. By default none, and in the '
        "profile `devnet` every one.",
    )
    max_in_flight: int = Field(
        default=2000,
        ge=1,
        le=1_000_000,
        description="Most admitted HTTP requests in progress, shared between keys like `server_limits.max_in_flight`; "
        "further ones get 503 at once.",
    )
    max_connections: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Most open connections. Beyond it, and where file descriptors run short, idle ones are closed for "
        "new ones, those of the client that has most of them first.",
    )
    max_connections_per_client: int = Field(
        default=1024,
        ge=1,
        le=1_000_000,
        description="Most open connections of one client address (of an IPv6 /64); trusted proxies may have more.",
    )
    max_sockets: int = Field(
        default=10_000, ge=1, le=1_000_000, description="Most open WebSockets and event streams, shared between keys."
    )
    body_timeout: Duration = Field(
        default=30.0, gt=0, le=3600, description="How long a request's body may take to arrive after its headers."
    )
    tls: TlsSettings = Field(default_factory=TlsSettings, description="TLS of the JSON-RPC face.")
    min_transfer_rate: int = Field(
        default=1024,
        ge=0,
        le=1 << 30,
        description="Bytes a second at which bodies must arrive and answers be taken, on average after the first five "
        "seconds; slower clients are disconnected. 0 for no such rate.",
    )


class ConsoleSettings(Section):
    """The web page that browsers get at `/` of the JSON-RPC face."""

    enabled: bool = Field(
        default=True,
        description="Whether it is served; without it `/` is the text that other clients get. All that it shows comes "
        "through the API, with the key that its reader enters.",
    )


class GrpcSettings(Section):
    """The gRPC face."""

    secret_members: ClassVar[tuple[str, ...]] = ("credential",)

    host: GrpcHost = Field(default="127.0.0.1", description="Address to listen on; `0.0.0.0` for every interface.")
    port: Port = Field(default=50051, description="Port of the gRPC face; 0 picks a free one.")
    private_listen: Listen | None = Field(
        default=None,
        description="Address for a transcoder in another process: `host:port` or `unix:/path`. Needs `credential`.",
    )
    credential: Credential = Field(
        default=None,
        description="Secret that a transcoder in another process proves itself with, 16 characters or more.",
    )
    credential_env: str | None = Field(default=None, description="Environment variable that holds the credential.")
    credential_file: str | None = Field(default=None, description="File that holds the credential.")
    tls: TlsSettings = Field(default_factory=TlsSettings, description="TLS of the public listener.")
    private_tls: TlsSettings = Field(default_factory=TlsSettings, description="TLS of the private listener.")
    reflection: bool = Field(default=True, description="Whether grpcurl and the like may list the services.")
    max_connections: int = Field(
        default=4096,
        ge=1,
        le=1_000_000,
        description="Most connections; further ones are closed at once. At most half of the descriptors that the "
        "process may have are used for them.",
    )
    max_streams: int = Field(
        default=100,
        ge=1,
        le=100_000,
        description="Most calls in progress on one connection; further ones wait in their client, which may open more "
        "connections.",
    )

    @model_validator(mode="after")
    def _pair_credential(self) -> GrpcSettings:
        if self.private_listen is not None and self.credential is None:
            fix = "give the private listener a credential: set credential_env, credential_file or credential"
            raise Refusal(fix, member="credential", value="")
        if self.credential is not None and self.private_listen is None:
            fix = "a credential is for the private listener: set private_listen, or remove the credential"
            raise Refusal(fix, member="private_listen", value="")
        return self


class TranscoderSettings(Section):
    """A transcoder in a process of its own (`waypost transcoder`)."""

    secret_members: ClassVar[tuple[str, ...]] = ("credential",)

    grpc_target: Target | None = Field(
        default=None, description="The server's private listener: `host:port`, `dns:///host:port` or `unix:/path`."
    )
    tls: TlsClientSettings = Field(
        default_factory=TlsClientSettings, description="TLS on the way to the server's private listener."
    )
    credential: Credential = Field(default=None, description="The same secret as the server's `grpc.credential`.")
    credential_env: str | None = Field(default=None, description="Environment variable that holds the credential.")
    credential_file: str | None = Field(default=None, description="File that holds the credential.")

    @model_validator(mode="after")
    def _pair_credential(self) -> TranscoderSettings:
        if self.grpc_target is not None and self.credential is None:
            fix = "give the server's credential: set credential_env, credential_file or credential"
            raise Refusal(fix, member="credential", value="")
        if self.credential is not None and self.grpc_target is None:
            fix = "a credential is for a server in another process: set grpc_target, or remove the credential"
            raise Refusal(fix, member="grpc_target", value="")
        return self
