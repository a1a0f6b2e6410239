"""The off-chain sources of a gateway: each behind one pool, whose endpoints can change while it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runtime.config_errors import ConfigError
from server.apis.endpoints import source_endpoints
from server.upstream import RestPool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AsyncExitStack

    from runtime.settings import RemoteSettings, Settings
    from server.upstream import ErrorTable
    from server.upstream.roster import Replacement
    from server.upstream.transport import Observer, Session

    Changed = Callable[[Sequence[RemoteSettings]], None]

# The pace of a source without blocks: nothing is compared, nothing polled.
_PACE_SECONDS = 60.0


class _Opened(NamedTuple):
    pool: RestPool
    changed: Changed | None


class Sources:
    """The sources that the settings configure. What is opened is closed with `lifetime`; nothing is sent by that."""

    def __init__(
        self, settings: Settings, http: Session, lifetime: AsyncExitStack, *, observer: Observer | None = None
    ) -> None:
        self.settings = settings
        """Those of the start; endpoints may have changed since."""
        self.lifetime = lifetime
        self.observer = observer
        self._http = http
        self._opened: dict[str, _Opened] = {}

    def endpoints(self, name: str) -> tuple[RemoteSettings, ...]:
        """Return the endpoints of a source at the start, none where it is switched off."""
        return source_endpoints(self.settings, name)

    def open(
        self, name: str, errors: ErrorTable, *, observer: Observer | None = None, changed: Changed | None = None
    ) -> RestPool:
        """Return the endpoints of a source behind one pool; `changed` is called with those of each change.

        `observer` takes the place of that of all sources.
        """
        endpoints, shown = self.endpoints(name), observer or self.observer
        pool = RestPool(name, endpoints, errors, self._http, block_time=_PACE_SECONDS, observer=shown)
        self.lifetime.push_async_callback(pool.close)
        self._opened[name] = _Opened(pool, changed)
        return pool

    def change(self, before: Settings, settings: Settings) -> SourcesChange:
        """Return the change from the endpoints of the settings that hold now to others, prepared; nothing is sent.

        Raises ConfigError where a source gets its first endpoint or loses its last: readers are built with it or not.
        """
        changes, mistakes = [], []
        for name in sorted(before.sources.keys() | settings.sources.keys()):
            had, wanted = source_endpoints(before, name), source_endpoints(settings, name)
            opened = self._opened.get(name)
            if bool(had) != bool(wanted):
                mistakes.append(_refuse_switch(name, is_on=bool(wanted)))
            elif opened is not None and _terms(had) != _terms(wanted):
                changes.append((opened, wanted))
        if mistakes:
            raise ConfigError(mistakes[0].key, mistakes[0].value, mistakes[0].fix, others=mistakes[1:])
        return SourcesChange([_Change(*one, one[0].pool.replace(one[1], hedge=False)) for one in changes])


class _Change(NamedTuple):
    opened: _Opened
    endpoints: tuple[RemoteSettings, ...]
    replacement: Replacement


class SourcesChange:
    """Other endpoints for sources in use. Made by `Sources.change`; ends by `apply` or `discard`."""

    def __init__(self, changes: Sequence[_Change]) -> None:
        self._changes = changes

    def apply(self) -> None:
        """Have the sources asked at their new endpoints from now on, within the quotas that these have."""
        for opened, endpoints, replacement in self._changes:
            replacement.apply()
            if opened.changed is not None:
                opened.changed(endpoints)

    async def discard(self) -> None:
        """Close what was opened; the sources stay as they are."""
        for change in self._changes:
            await change.replacement.discard()


def _terms(endpoints: Sequence[RemoteSettings]) -> list[tuple[object, ...]]:
    return [(one.route_key, one.weight, one.rate) for one in endpoints]


def _refuse_switch(name: str, *, is_on: bool) -> ConfigError:
    what = "its first endpoint is added" if is_on else "its last endpoint is removed"
    fix = f"{what}, and whether a source is asked at all is chosen at the start: restart the gateway for this"
    return ConfigError(f"sources.{name}.endpoints", "", fix)
