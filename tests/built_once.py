"""What every gateway of a test process would read and design alike, made once for them all.

A gateway takes a fifth of a second of processor time, nearly all of it for the same tables, published apps and schema,
and tests open more than a thousand. What is shared here is never written to after it is made. That each of these is
made rightly is tried where it is made and by every gateway that runs in a process of its own.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import make_url

import server.app
import server.catalog.calendar
import server.marketplace.calls
import server.marketplace.folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest
    from sqlalchemy.ext.asyncio import AsyncEngine


def share(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Share them until the generator is closed."""
    patch.setattr(server.catalog.calendar, "read_calendar", _of_chains(server.catalog.calendar.read_calendar))
    patch.setattr(server.marketplace.folders, "load_catalogue", _of_chains(server.marketplace.folders.load_catalogue))
    # By the catalogue that they are made of, which is then kept.
    for module, name in ((server.app, "TypedServices"), (server.marketplace.calls, "Methods")):
        patch.setattr(module, name, cache(getattr(module, name)))
    patch.setattr(server.app, "reflection_servicer", _reflection(server.app.reflection_servicer))
    with tempfile.TemporaryDirectory() as folder:
        patch.setattr(server.app, "open_database", _Databases(Path(folder), server.app.open_database))
        yield


def _reflection(build: Callable[..., Any]) -> Callable[..., Any]:
    built = cache(build)
    return lambda operations, typed: built(tuple(operations), typed)


def _of_chains(read: Callable[..., Any]) -> Callable[..., Any]:
    built_in = cache(read)

    def reading(chains: Any, own: Path | None = None) -> Any:
        return built_in(tuple(chains)) if own is None else read(chains, own)

    return reading


class _Databases:
    """Opens databases; a new SQLite file begins as a copy of one that the gateway itself has made for the profile."""

    def __init__(self, folder: Path, opening: Callable[..., Any]) -> None:
        self._folder = folder
        self._open = opening
        self._templates: dict[str | None, Path] = {}

    async def _template(self, profile: str | None) -> Path:
        if profile not in self._templates:
            path = self._folder / f"{profile}.db"
            await (await self._open(f"sqlite:///{path}", profile)).dispose()
            self._templates[profile] = path
        return self._templates[profile]

    async def __call__(self, url: str, profile: str | None = None, **options: Any) -> AsyncEngine:
        target = make_url(url)
        if target.get_backend_name() == "sqlite" and (target.database or "").endswith(".db"):
            _begin(Path(str(target.database)), await self._template(profile))
        engine: AsyncEngine = await self._open(url, profile, **options)
        return engine


def _begin(path: Path, template: Path) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(template, path)
