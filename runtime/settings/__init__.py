"""Typed settings of the gateway: a TOML file, the environment, and defaults that need neither.

`load_settings` returns the `Settings` tree or raises `runtime.config_errors.ConfigError`.
"""

from runtime.settings.cache import CacheSettings
from runtime.settings.endpoints import (
    SOURCES,
    ChainSettings,
    EndpointKind,
    EndpointSettings,
    FetcherSettings,
    PricesSettings,
    RemoteSettings,
    RouteSettings,
    SourceSettings,
)
from runtime.settings.faces import ConsoleSettings, GrpcSettings, HttpSettings, TranscoderSettings
from runtime.settings.loading import load_settings
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
)
from runtime.settings.streams import StreamSettings
from runtime.settings.telemetry import TelemetrySettings
from runtime.settings.tls import TlsClientSettings, TlsSettings
from runtime.settings.tree import Settings
from runtime.settings.values import FASTEST_RATE, SLOWEST_RATE

__all__ = [
    "Settings",
    "load_settings",
    "HttpSettings",
    "GrpcSettings",
    "QuotaSettings",
    "ServerLimits",
    "StorageSettings",
    "StreamSettings",
    "CacheSettings",
    "CalendarSettings",
    "ConsoleSettings",
    "ControlSettings",
    "MarketplaceSettings",
    "FetcherSettings",
    "NftSettings",
    "LogSettings",
    "MetricsSettings",
    "TelemetrySettings",
    "TranscoderSettings",
    "ChainSettings",
    "RemoteSettings",
    "RouteSettings",
    "SOURCES",
    "SourceSettings",
    "PricesSettings",
    "EndpointSettings",
    "EndpointKind",
    "TlsSettings",
    "TlsClientSettings",
    "SLOWEST_RATE",
    "FASTEST_RATE",
]
