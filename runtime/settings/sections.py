"""The tables of the configuration file, one class each."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from typing import Annotated, ClassVar, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from runtime.config_errors import Refusal
from runtime.places import data_folder, devnet_database
from runtime.settings.secrets import Section
from runtime.settings.tls import TlsSettings
from runtime.settings.values import (
    Duration,
    Rate,
    RedisUrl,
    TcpListen,
    split_list,
)


class CalendarSettings(Section):
    """Releases and upgrades that getNetworkCalendar returns."""

    entries: Path | None = Field(
        default=None,
        description="Directory of your own announcements, a file `<chain>.toml` each, listed beside the built-in ones. "
        "`waypost check` validates them.",
    )


class MarketplaceSettings(Section):
    """Contracts whose functions and events are methods of their own."""

    apps: Path | None = Field(
        default=None,
        description="Directory of your own apps, a folder each, published beside the built-in ones. `waypost apps "
        "check` validates one.",
    )


def _check_gateway(value: str) -> str:
    """Return the base URL of a gateway, without a slash at its end."""
    fix = "give the base URL of a gateway, for example https://ipfs.io, without query and credentials"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise Refusal(fix, value="(hidden)") from None
    plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not plain or not value.isprintable():
        raise Refusal(fix, value="(hidden)")
    return value.rstrip("/")


_Gateways = Annotated[tuple[Annotated[str, AfterValidator(_check_gateway)], ...], BeforeValidator(split_list)]


class NftSettings(Section):
    """Gateways are asked in their order. Their addresses are no secrets: answers hold them."""

    ipfs_gateways: _Gateways = Field(
        default=("https://ipfs.io", "https://dweb.link"),
        description="Gateways below which `/ipfs/<content id>` lies; answers point to the first. One that is private "
        "or not on https has to stand in `fetcher.allow` as well.",
    )
    arweave_gateways: _Gateways = Field(
        default=("https://arweave.net",), description="Gateways below which `/<Arweave id>` lies, likewise."
    )

    def plain_gateways(self) -> dict[str, str]:
        """Return host and port of every gateway that is asked over http, by its key."""
        found = {}
        for name in ("ipfs_gateways", "arweave_gateways"):
            for index, gateway in enumerate(getattr(self, name)):
                parts = urlsplit(gateway)
                if parts.scheme == "http":
                    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
                    found[f"{name}[{index}]"] = f"{host}:{parts.port or 80}"
        return found


_SQLITE = ("sqlite+aiosqlite:///", "sqlite:///")
_POSTGRESQL = ("postgresql+asyncpg://", "postgresql://", "postgres://")
_POSTGRESQL_OPTIONS = {"ssl", "sslmode", "host"}


def _check_storage(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    for prefix in _SQLITE:
        if text.startswith(prefix) and len(text) > len(prefix):
            return SecretStr(_SQLITE[0] + text.removeprefix(prefix))
    if text.startswith(_POSTGRESQL):
        return SecretStr(_check_postgresql(text))
    raise Refusal(
        "give the URL of an SQLite file, for example sqlite:////var/lib/waypost/waypost.db, or of a PostgreSQL "
        "database, postgresql://user:password@host/database"
    )


def _check_postgresql(text: str) -> str:
    """Return the URL as the database layer takes it: with the driver that works on an event loop."""
    rest = text.split("://", maxsplit=1)[1]
    try:
        parts = urlsplit(f"postgresql://{rest}")
        is_whole = bool(parts.path.strip("/")) and "/" not in parts.path[1:] and parts.port != 0 and not parts.fragment
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        is_whole = False
    if not is_whole or any(character.isspace() for character in rest):
        raise Refusal("name the database, for example postgresql://user:password@host:5432/waypost")
    if options.keys() - _POSTGRESQL_OPTIONS:
        raise Refusal("after the question mark only sslmode, ssl and host (the folder of a socket) are taken")
    # What libpq calls sslmode, the driver calls ssl.
    options = {"ssl" if name == "sslmode" else name: value for name, value in options.items()}
    return f"{_POSTGRESQL[0]}{parts.netloc}{parts.path}" + (f"?{urlencode(options)}" if options else "")


def default_storage_url(profile: str = "mainnet") -> str:
    """Return the URL of a profile's own SQLite file.

    Mainnet's lies in the user's data folder (`$XDG_DATA_HOME`, else `~/.local/share`), and so does the devnet's where
    Waypost is installed; a checkout keeps it with all else that the devnet makes, gone with `make clean`.
    """
    return f"{_SQLITE[0]}{devnet_database() if profile == 'devnet' else data_folder() / 'waypost.db'}"


def _refuse_per_process(value: object) -> object:
    """Return an old `mode` that still holds."""
    if value == "per-process":
        raise Refusal(
            'workers share quotas now: remove quotas.mode; quotas.backend = "memory" counts for all workers of one '
            'machine, "redis" for several machines'
        )
    return value


class QuotaSettings(Section):
    """How much callers may ask. One unit is one item; heavy operations cost several."""

    secret_members: ClassVar[tuple[str, ...]] = ("redis_url",)

    default_rate: Rate = Field(default=50, description="Units per second for a key that has no rate of its own.")
    default_burst: int = Field(default=100, ge=1, le=1_000_000, description="Units that such a key may use at once.")
    backend: Literal["memory", "redis"] = Field(
        default="memory",
        description="Where quotas are counted: in `memory` for one gateway with all its workers, in `redis` for all "
        "gateways that share one.",
    )
    redis_url: RedisUrl | None = Field(
        default=None,
        description="Redis that counts quotas: `redis://`, `rediss://` or `unix://`; that of `[cache]` where none is "
        "given here. It should evict nothing that has a lifetime. While it is away every process counts its part.",
    )
    redis_url_env: str | None = Field(default=None, description="Environment variable that holds the URL.")
    redis_url_file: str | None = Field(default=None, description="File that holds the URL.")
    mode: Annotated[Literal["shared"], BeforeValidator(_refuse_per_process)] = Field(
        default="shared", description="Of earlier versions, without effect: quotas are always shared. Leave it out."
    )
    demo_rate: Rate = Field(default=1, description="Units per second for one client address on the demo.")
    demo_burst: int = Field(default=1, ge=1, le=1000, description="Units that one demo client may use at once.")

    @model_validator(mode="after")
    def _check_backend(self) -> QuotaSettings:
        if self.redis_url is not None and self.backend == "memory":
            fix = 'a Redis URL is for the other backend: set backend = "redis", or remove redis_url'
            raise Refusal(fix, member="backend", value="memory")
        return self


class StorageSettings(Section):
    """Where keys (as hashes) and prices are kept."""

    secret_members: ClassVar[tuple[str, ...]] = ("url",)

    url: Annotated[SecretStr, AfterValidator(_check_storage)] = Field(
        default_factory=lambda: SecretStr(default_storage_url()),
        description="Database URL: `sqlite:///` and the path of a file (four slashes for an absolute one), or "
        "`postgresql://user:password@host:5432/database`. A database takes processes of one profile only. By "
        "default mainnet's is `waypost/waypost.db` in the user's data folder, the devnet's "
        "`waypost/devnet.db` there; in a checkout `.devnet/storage/waypost.db`.",
    )
    url_env: str | None = Field(default=None, description="Environment variable that holds the URL.")
    url_file: str | None = Field(default=None, description="File that holds the URL.")


class LogSettings(Section):
    """What is logged, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe level logged."
    )
    format: Literal["auto", "json", "console"] = Field(
        default="auto", description="`json` lines, `console` text, or `auto`: console on a terminal, json otherwise."
    )


class MetricsSettings(Section):
    """Prometheus metrics."""

    listen: TcpListen | None = Field(
        default=None,
        description='Address that serves `/metrics`, for example `"127.0.0.1:9464"`; unset means no metrics listener. '
        "With several workers it shows all of them, added up.",
    )
    tls: TlsSettings = Field(default_factory=TlsSettings, description="TLS of the metrics listener.")


class ServerLimits(Section):
    """How much work is in progress at most; beyond it calls are refused at once, with the time to try again."""

    max_in_flight: int = Field(
        default=2000,
        ge=1,
        le=1_000_000,
        description="Items in progress in one process. One key may have them all while it is alone; several share them "
        "evenly, and up to a quarter more are taken for those that have fewer than others.",
    )
    max_in_flight_per_key: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Items in progress of one key at most, also while it is alone. Unset means no such bound.",
    )
    drain: Duration = Field(
        default=20.0, ge=0, le=600, description="How long calls in progress may take to finish when the gateway stops."
    )
    notice: Duration = Field(
        default=2.0,
        ge=0,
        le=600,
        description="How long a stopping gateway that reports itself not ready still takes requests, so that load "
        "balancers notice first. HTTP answers close their connections meanwhile; over gRPC new calls are refused from "
        "its half on, with the time to try again.",
    )

    @model_validator(mode="after")
    def _compare(self) -> ServerLimits:
        if self.max_in_flight_per_key is not None and self.max_in_flight_per_key > self.max_in_flight:
            fix = f"one key cannot have more than max_in_flight ({self.max_in_flight})"
            raise Refusal(fix, member="max_in_flight_per_key", value=str(self.max_in_flight_per_key))
        return self


class ControlSettings(Section):
    """The Unix socket on which a running gateway is asked to reload (`waypost reload`)."""

    socket: Path | None = Field(
        default=None,
        description="Path of the socket, which only the gateway's own user may use. Unset means "
        "`<profile>-<HTTP port>.sock` in `$XDG_RUNTIME_DIR/waypost`, or in `waypost-<user id>` among the temporary "
        "files; the gRPC server alone has the gRPC port in its place.",
    )
