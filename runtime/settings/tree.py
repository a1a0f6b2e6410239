"""The whole configuration, and the rules that span several tables."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, SettingsConfigDict

from runtime.config_errors import Refusal, nearest
from runtime.logs import redact_text
from runtime.settings.cache import CacheSettings
from runtime.settings.endpoints import SOURCES as OFF_CHAIN
from runtime.settings.endpoints import ChainSettings, FetcherSettings, PricesSettings, RouteSettings, SourceSettings
from runtime.settings.faces import ConsoleSettings, GrpcSettings, HttpSettings, TranscoderSettings
from runtime.settings.sections import (
    CalendarSettings,
    ControlSettings,
    LogSettings,
    MarketplaceSettings,
    MetricsSettings,
    NftSettings,
    QuotaSettings,
    ServerLimits,
    StorageSettings,
    default_storage_url,
)
from runtime.settings.streams import StreamSettings
from runtime.settings.telemetry import TelemetrySettings
from runtime.settings.values import WorkerCount, split_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_settings import PydanticBaseSettingsSource

# What `load_settings` has read, strongest first. Without it the tree holds what its constructor is given.
SOURCES: ContextVar[Sequence[dict[str, Any]]] = ContextVar("waypost_settings_sources", default=())


class Settings(BaseSettings):
    """Everything that can be configured; every member has a default.

    Built by `runtime.settings.load_settings` from a TOML file and the environment. Constructed directly it takes its
    keyword arguments alone and reads neither.
    """

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True, title="Waypost"
    )

    profile: Literal["mainnet", "devnet"] = Field(
        default="mainnet",
        description="`mainnet`: chains are read from their public endpoints unless configured. `devnet`: local nodes; "
        "the API key `local` is accepted.",
    )
    workers: WorkerCount = Field(
        default=1,
        description="Processes that serve the same ports; `auto`: as many as processors may be used when the gateway "
        "starts, by the affinity of its process and the CPU quota of its control group.",
    )
    http: HttpSettings = Field(default_factory=HttpSettings, description="The JSON-RPC face.")
    console: ConsoleSettings = Field(
        default_factory=ConsoleSettings, description="The web page that browsers get at `/` of the JSON-RPC face."
    )
    grpc: GrpcSettings = Field(default_factory=GrpcSettings, description="The gRPC face.")
    quotas: QuotaSettings = Field(
        default_factory=QuotaSettings,
        description="How much callers may ask. One unit is one item; heavy operations cost several.",
    )
    server_limits: ServerLimits = Field(
        default_factory=ServerLimits,
        description="How much work is in progress at most, and how long stopping may take.",
    )
    streams: StreamSettings = Field(
        default_factory=StreamSettings,
        description="How many streams are open at most; they are no items in progress.",
    )
    storage: StorageSettings = Field(
        default_factory=StorageSettings,
        description="Where keys (as hashes), prices and share prices of vaults are kept.",
    )
    cache: CacheSettings = Field(default_factory=CacheSettings, description="What is kept of answers, and how long.")
    marketplace: MarketplaceSettings = Field(
        default_factory=MarketplaceSettings,
        description="Contracts whose functions and events are methods of their own.",
    )
    fetcher: FetcherSettings = Field(
        default_factory=FetcherSettings, description="How far addresses are followed that contracts have chosen."
    )
    nft: NftSettings = Field(
        default_factory=NftSettings, description="Gateways to the documents of tokens. Answers hold their addresses."
    )
    calendar: CalendarSettings = Field(
        default_factory=CalendarSettings, description="Releases and upgrades that getNetworkCalendar returns."
    )
    log: LogSettings = Field(default_factory=LogSettings, description="What is logged, on standard error.")
    metrics: MetricsSettings = Field(default_factory=MetricsSettings, description="Prometheus metrics.")
    telemetry: TelemetrySettings = Field(
        default_factory=TelemetrySettings, description="Traces, sent to an OpenTelemetry collector."
    )
    control: ControlSettings = Field(
        default_factory=ControlSettings, description="The Unix socket on which a running gateway is asked to reload."
    )
    transcoder: TranscoderSettings = Field(
        default_factory=TranscoderSettings, description="A transcoder in a process of its own (`waypost transcoder`)."
    )
    prices: PricesSettings = Field(default_factory=PricesSettings, description="Prices of tokens.")
    outbound: RouteSettings = Field(
        default_factory=RouteSettings,
        description="How endpoints of chains and sources are reached that say nothing else. What contracts and tokens "
        "name (`[fetcher]`) is asked directly.",
    )
    sources: dict[str, SourceSettings] = Field(
        default_factory=dict,
        description="Off-chain sources by name: " + ", ".join(f"`{name}`" for name in OFF_CHAIN) + ". One that is not "
        "listed is asked at its built-in public endpoints, on the devnet not at all.",
    )
    chains: dict[str, ChainSettings] = Field(
        default_factory=dict,
        description="Chains by slug. A chain that is not listed is read from its built-in public endpoints.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the constructor's arguments, then what `load_settings` has read."""
        return (init_settings, *(InitSettingsSource(settings_cls, values) for values in SOURCES.get()))

    @model_validator(mode="after")
    def _choose_database(self) -> Settings:
        """Give each profile a database of its own where none is named: what one writes the other never reads."""
        if "url" not in self.storage.model_fields_set:
            url = SecretStr(default_storage_url(self.profile))
            # The tree is frozen for all others; the section stays one whose URL was not given.
            self.__dict__["storage"] = self.storage.model_copy(update={"url": url})
            self.storage.model_fields_set.discard("url")
        return self

    @model_validator(mode="after")
    def _open_the_devnet_to_browsers(self) -> Settings:
        """Let pages of every origin call the local chains, unless it is said who may: nothing there is anybody's."""
        if self.profile == "devnet" and "cors_origins" not in self.http.model_fields_set:
            self.__dict__["http"] = self.http.model_copy(update={"cors_origins": ("*",)})
            self.http.model_fields_set.discard("cors_origins")
        return self

    @model_validator(mode="after")
    def _check_sources(self) -> Settings:
        for name in self.sources:
            if name not in OFF_CHAIN:
                near = nearest(name, OFF_CHAIN)
                advice = f'did you mean "{near}"?' if near else f"the sources are {', '.join(OFF_CHAIN)}"
                raise Refusal(f"there is no such source: {advice}", member=f"sources.{redact_text(name)}", value="")
        return self

    @model_validator(mode="after")
    def _check_workers(self) -> Settings:
        if self.workers > 1 and 0 in (self.http.port, self.grpc.port):
            fix = "workers share their ports: give http.port and grpc.port numbers other than 0"
            raise Refusal(fix, member="workers", value=str(self.workers))
        return self

    @model_validator(mode="after")
    def _check_quotas(self) -> Settings:
        if self.quotas.backend == "redis" and self.quota_redis_url is None:
            fix = 'name the Redis that counts: set quotas.redis_url (or cache.redis_url), or quotas.backend = "memory"'
            raise Refusal(fix, member="quotas.redis_url", value="")
        return self

    @property
    def quota_redis_url(self) -> str | None:
        """The URL of the Redis that counts quotas; None where they are counted in memory."""
        url = self.quotas.redis_url or self.cache.redis_url
        return None if self.quotas.backend == "memory" or url is None else url.get_secret_value()

    @model_validator(mode="after")
    def _check_ports(self) -> Settings:
        taken = {self.http.port: "http.port"} if self.http.port else {}
        others = {"grpc.port": self.grpc.port}
        if self.metrics.listen is not None:
            others["metrics.listen"] = split_address(self.metrics.listen)[1]
        if self.grpc.private_listen is not None and not self.grpc.private_listen.startswith("unix:"):
            others["grpc.private_listen"] = split_address(self.grpc.private_listen)[1]
        for member, port in others.items():
            if port in taken:
                raise Refusal(f"{taken[port]} has the same port: give each its own", member=member, value=str(port))
            if port:
                taken[port] = member
        return self

    @model_validator(mode="after")
    def _check_gateways(self) -> Settings:
        for key, authority in self.nft.plain_gateways().items():
            if authority.lower() not in {entry.lower() for entry in self.fetcher.allow}:
                fix = f'a gateway without TLS has to be allowed: add "{authority}" to fetcher.allow, or use https'
                raise Refusal(fix, member=f"nft.{key}", value=authority)
        return self
