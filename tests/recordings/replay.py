"""A loopback server that gives prepared answers, counts what it is asked, and misbehaves when told to."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from runtime.settings import RemoteSettings
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FOLDER = Path(__file__).parent


def recorded(name: str) -> str:
    """Return a recorded shape by its path below this folder."""
    return (FOLDER / name).read_text()


@dataclass
class Replay:
    """Answers by the beginning of their path. `status` and `delay` (seconds) hold for all of them."""

    answers: dict[str, str] = field(default_factory=dict)
    status: int = 200
    delay: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    url: str = ""

    def endpoint(self, label: str = "replay") -> RemoteSettings:
        """Return the settings by which a pool asks it."""
        return RemoteSettings.model_validate({"label": label, "url": self.url})

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(str(request.rel_url))
        self.agents.append(request.headers.get("User-Agent", ""))
        await asyncio.sleep(self.delay)
        for beginning, body in self.answers.items():
            if request.path.startswith(beginning):
                return web.Response(
                    status=self.status, text=body, content_type="application/json", headers=self.headers
                )
        return web.Response(status=404, text='{"error":"not found"}', content_type="application/json")


@asynccontextmanager
async def replaying(replay: Replay) -> AsyncIterator[Replay]:
    """Serve it on a free port for the length of the context."""
    app = web.Application()
    app.router.add_get("/{path:.*}", replay.answer)
    async with serve_app(app) as replay.url:
        yield replay
