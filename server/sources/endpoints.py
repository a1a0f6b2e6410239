"""Where the off-chain sources are asked: as the settings say, else at the public endpoints of endpoints.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.settings import RemoteSettings
from runtime.version import VERSION
from server.upstream import RestPool

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from runtime.settings import Settings
    from server.upstream import ErrorTable
    from server.upstream.transport import Observer, Session

AGENT = (("User-Agent", f"waypost/{VERSION}"),)
"""The header by which public APIs know who asks: CoinGecko refuses requests without one (403)."""

# The pace of a source without blocks: nothing is compared, nothing polled.
_PACE_SECONDS = 60.0
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


def open_source(
    settings: Settings,
    name: str,
    errors: ErrorTable,
    http: Session,
    lifetime: AsyncExitStack,
    observer: Observer | None = None,
) -> RestPool:
    """Return the endpoints of a source behind one pool, which is closed with `lifetime`."""
    endpoints = source_endpoints(settings, name)
    pool = RestPool(name, endpoints, errors, http, block_time=_PACE_SECONDS, observer=observer)
    lifetime.push_async_callback(pool.close)
    return pool
