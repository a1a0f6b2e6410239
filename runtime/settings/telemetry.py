"""`[telemetry]`: where traces go."""

from __future__ import annotations

from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PrivateAttr, SecretStr, model_validator

from runtime.config_errors import Refusal
from runtime.settings.secrets import Section, read_variable
from runtime.settings.values import JsonOrTable


def check_collector(value: str) -> str:
    """Return the address of a collector; raises Refusal for what is none."""
    fix = "give the collector's OTLP address over gRPC, http://host:4317 or https://host:4317"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise Refusal(fix, value="(hidden)") from None
    is_plain = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not is_plain:
        raise Refusal(fix, value="(hidden)")
    return value


class TelemetrySettings(Section):
    """Traces, sent to an OpenTelemetry collector."""

    endpoint: Annotated[str, AfterValidator(check_collector)] | None = Field(
        default=None,
        description="Address of the collector that takes OTLP over gRPC, for example `http://127.0.0.1:4317`; "
        "`https://` for TLS. Unset means `OTEL_EXPORTER_OTLP_ENDPOINT`, and without that no traces. The other "
        "`OTEL_EXPORTER_OTLP_*` variables hold as well.",
    )
    headers_env: Annotated[dict[str, str], JsonOrTable] = Field(
        default_factory=dict,
        description="Metadata to send to the collector, each with the environment variable that holds its value, for "
        'example `{ authorization = "COLLECTOR_TOKEN" }`.',
    )
    sample: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Share of traces that are recorded. Of callers' own traces those that they do not record are not "
        "recorded here either, of the others this share.",
    )
    service: str = Field(
        default="waypost",
        min_length=1,
        max_length=100,
        description="Name of the service in traces. `OTEL_SERVICE_NAME` goes before the default.",
    )

    _headers: dict[str, SecretStr] = PrivateAttr(default_factory=dict)

    @property
    def headers(self) -> dict[str, SecretStr]:
        """The metadata to send to the collector, by name in lower case."""
        return self._headers

    @model_validator(mode="after")
    def _read_headers(self) -> Self:
        for name, variable in self.headers_env.items():
            value: Any = read_variable(variable, f"headers_env.{name}")
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii() or not value.isprintable():
                raise Refusal("give names such as authorization, with values of one line", member="headers_env")
            self._headers[name.lower()] = SecretStr(value)
        return self
