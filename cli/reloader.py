"""A process takes new settings while it serves: reads them, prepares the change, applies it.

One process does all of that by itself; of several workers each does it when their parent asks (`cli.worker_reload`).
"""

from __future__ import annotations

import asyncio
import hashlib
import signal
import sys
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, SecretStr

from cli.process import end_without_terminal
from runtime.config_errors import ConfigError
from runtime.logs import get_logger, set_log_level
from runtime.metrics import set_generation
from runtime.settings.changes import changed_keys, refuse_fixed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from runtime.settings import Settings

    Read = Callable[[bytes | None], Settings]
    """Reads the settings, of this content of the configuration file instead of the file where that is given."""

MOST_MISTAKES = 50

_log = get_logger("waypost.reload")


class Change(Protocol):
    """A change that is prepared."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it changes."""
        ...

    async def discard(self) -> None:
        """Give it up."""
        ...


class Changes(Protocol):
    """What settings can be changed of, a gateway for example."""

    async def prepare(self, settings: Settings) -> Any:
        """Return the `Change` to these settings; ConfigError for what is wrong with them."""
        ...

    def apply(self, change: Any) -> None:
        """Change to them."""
        ...


class Reloader:
    """Prepares and applies new settings, one change at a time; `generation` counts those that were applied, from 1."""

    def __init__(self, settings: Settings, read: Read, changes: Changes, generation: int = 1) -> None:
        self.settings = settings
        self.generation = generation
        self._read = read
        self._changes = changes
        self._prepared: tuple[Settings, Change] | None = None
        self._turn = asyncio.Lock()
        set_generation(generation)

    async def reload(self) -> dict[str, Any]:
        """Read the settings again and change to them; return the outcome."""
        async with self._turn:
            outcome = await self.prepare(None)
            if outcome["ok"]:
                self.apply(self.generation + 1)
                outcome |= {"generation": self.generation}
        log_outcome(outcome)
        return outcome

    async def prepare(self, content: bytes | None) -> dict[str, Any]:
        """Read and prove; return the outcome, with a digest of the settings where they can be applied."""
        await self.discard()
        try:
            settings = await asyncio.to_thread(self._read, content)
            change = await self._changes.prepare(settings)
        except ConfigError as error:
            return failed(error)
        self._prepared = settings, change
        return {"ok": True, "changed": list(change.keys), "digest": digest(settings)}

    def apply(self, generation: int) -> None:
        """Change to what was prepared last."""
        if self._prepared is None:
            raise RuntimeError("nothing is prepared")
        (settings, change), self._prepared = self._prepared, None
        self._changes.apply(change)
        set_log_level(settings.log)
        self.settings, self.generation = settings, generation
        set_generation(generation)

    async def discard(self) -> None:
        """Give up what was prepared and not applied."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            await prepared[1].discard()


class FixedFaces:
    """The changes of a process without a gateway: what it logs, and nothing else.

    What a gateway with the same configuration changes beyond that is accepted, and is none of its changes.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def prepare(self, settings: Settings) -> _FewKeys:
        """Return the change; ConfigError for what needs a restart."""
        refuse_fixed(self._settings, settings)
        keys = (key for key in changed_keys(self._settings, settings) if key.startswith("log."))
        return _FewKeys(settings, tuple(keys))

    def apply(self, change: _FewKeys) -> None:
        """Note the settings."""
        self._settings = change.settings


class _FewKeys:
    def __init__(self, settings: Settings, keys: tuple[str, ...]) -> None:
        self.settings = settings
        self.keys = keys

    async def discard(self) -> None:
        """Nothing was opened."""


def failed(error: ConfigError) -> dict[str, Any]:
    """Return the outcome of a reload that changes nothing."""
    mistakes = [
        {"key": one.key, "value": one.value, "fix": one.fix, "origin": one.origin or ""}
        for one in error.every()[:MOST_MISTAKES]
    ]
    return {"ok": False, "mistakes": mistakes}


def mistakes_of(outcome: Mapping[str, Any]) -> ConfigError | None:
    """Return the mistakes of an outcome, None where it has none."""
    found = [
        ConfigError(one["key"], one["value"], one["fix"], origin=one["origin"]) for one in outcome.get("mistakes", ())
    ]
    if not found:
        return None
    first = found[0]
    return ConfigError(first.key, first.value, first.fix, origin=first.origin, others=found[1:])


def log_outcome(outcome: Mapping[str, Any]) -> None:
    """Log how a reload ended."""
    if outcome["ok"]:
        _log.info("reloaded", generation=outcome["generation"], changed=outcome["changed"])
    else:
        mistakes = mistakes_of(outcome)
        stated = [str(one) for one in mistakes.every()] if mistakes is not None else [outcome.get("error", "")]
        _log.error("nothing was reloaded", mistakes=stated)


def listen_for_reload(reload: Callable[[], Awaitable[object]]) -> None:
    """Reload at every SIGHUP from now on; one that a closed terminal sends ends the process, as it would any other."""
    if sys.platform == "win32":
        return
    running: set[asyncio.Task[None]] = set()

    async def run() -> None:
        await reload()

    def begin() -> None:
        if end_without_terminal():
            return
        task = asyncio.get_running_loop().create_task(run())
        running.add(task)
        task.add_done_callback(running.discard)

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, begin)


def digest(settings: Settings) -> str:
    """Return what is equal for equal settings, secrets included, and reveals none of them."""
    return hashlib.sha256(repr(_plain(settings)).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, BaseModel):
        return [(name, _plain(getattr(value, name))) for name in type(value).model_fields]
    if isinstance(value, dict):
        return [(name, _plain(inner)) for name, inner in value.items()]
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value
