"""A stand-in before a real node that changes what the node answers to some methods."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiohttp import web

from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.nodes import LatestOnly, load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    Change = Callable[[Any], Any]


class Changed(LatestOnly):
    """Stands before a real node and changes its results by method; a method of None is an internal error."""

    def __init__(self, target: str, session: Any, changes: dict[str, Change | None]) -> None:
        super().__init__(target, session)
        self.changes = changes
        self.asked: list[str] = []

    async def _answer(self, request: Any) -> Any:
        body = await request.json()
        items = body if isinstance(body, list) else [body]
        answers = [await self._one(item) for item in items]
        return web.json_response(answers if isinstance(body, list) else answers[0])

    async def _one(self, item: dict[str, Any]) -> Any:
        self.asked.append(item["method"])
        if self.changes.get(item["method"], True) is None:
            return {"jsonrpc": "2.0", "id": item["id"], "error": {"code": -32603, "message": "internal error"}}
        async with self._session.post(self._target, json=item) as response:
            answer = await response.json()
        change = self.changes.get(item["method"])
        if change is not None:
            answer["result"] = change(answer["result"])
        return answer


@asynccontextmanager
async def nodes(tally: Any, ethereum: Any, session: Any, **changes: dict[str, Change | None]) -> AsyncIterator[Any]:
    """The driver of ethereum over stand-ins by label, and these. All are known, and the first is the favourite.

    Without that, whom a call goes to would be a matter of how fast each happens to be.
    """
    fronts = {label: Changed(ethereum.url, session, change) for label, change in changes.items()}
    for front in fronts.values():
        await front.start()
    async with open_session() as http:
        chains = await load(http, tally, **{label: front.url for label, front in fronts.items()})
        pool = Operations(chains.get("ethereum")).pool
        await pool.probe("eth_chainId", [])
        head = await ethereum.height()
        for label in fronts:
            pool.observe_head(label, head)
        for front in fronts.values():
            front.asked.clear()
        tally.requests.clear()
        try:
            yield Operations(chains.get("ethereum")), fronts
        finally:
            await chains.close()
            for front in fronts.values():
                await front.stop()
