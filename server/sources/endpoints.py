"""Where the off-chain sources are asked: as the settings say, else at the public endpoints of endpoints.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.settings import RemoteSettings
from runtime.version import VERSION

if TYPE_CHECKING:
    from runtime.settings import Settings

AGENT = (("User-Agent", f"waypost/{VERSION}"),)
"""The header by which public APIs know who asks: CoinGecko refuses requests without one (403)."""

_PUBLIC = Path(__file__).with_name("endpoints.toml")


def source_endpoints(settings: Settings, name: str) -> tuple[RemoteSettings, ...]:
    """Return the endpoints of a source, none where it is switched off; the devnet asks no public one."""
    configured = settings.sources.get(name)
    if configured is not None:
        return configured.endpoints
    if settings.profile == "devnet":
        return ()
    public = tomllib.loads(_PUBLIC.read_text(encoding="utf-8"))
    return tuple(RemoteSettings.model_validate(row) for row in public[name])
