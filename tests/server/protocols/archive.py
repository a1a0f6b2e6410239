"""A scripted chain with an older block, and documents and prices as a test has them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from server.apis.documents import Document
from server.chains.view import ReadView
from server.errors import DeadlineExceeded, GatewayError
from server.prices import Price
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from tests.server.protocols.scripted import World

if TYPE_CHECKING:
    from server.apis.documents import DocumentRequest
    from server.contracts.calls import CallGroup, ContractOutcome

DOCUMENTED_AT = datetime(2026, 11, 20, tzinfo=UTC)
PRICED_AT = datetime(2026, 11, 21, tzinfo=UTC)


@dataclass
class Archive(World):
    """A world with an older block; None where it has no older state."""

    past: World | None = None
    failure: GatewayError | None = None
    asked: list[float] = field(default_factory=list)

    async def call_groups_back(
        self, groups: list[CallGroup], seconds: float, view: ReadView
    ) -> tuple[int, list[list[ContractOutcome]]] | None:
        self.asked.append(seconds)
        if self.failure is not None:
            raise self.failure
        if self.past is None:
            return None
        return self.past.block, [[self.past.answer(call) for call in group.calls] for group in groups]


@dataclass
class Desk:
    """Asks readers over a world, with documents by request (or what they fail with) and prices by token."""

    world: Archive = field(default_factory=Archive)
    documents: dict[DocumentRequest, Any] = field(default_factory=dict)
    prices: dict[tuple[str, str], str] = field(default_factory=dict)
    priced: list[Any] = field(default_factory=list)
    hangs: bool = False

    def __post_init__(self) -> None:
        self._runner = Runner(lambda _slug, _wanted: self.world, TableStore(), self, self)

    async def ask(self, reader: Any, question: Any, *, seconds: float | None = None) -> Any:
        """Return the answer, which has to come within so many seconds."""
        deadline = None if seconds is None else time.monotonic() + seconds
        async with asyncio.timeout(seconds):
            return (await self._runner.answer(reader, question, ReadView(deadline=deadline))).answer

    async def read(self, request: DocumentRequest, *, deadline: Any, cache: Any) -> Document:
        if self.hangs:
            await asyncio.sleep(deadline - time.monotonic())
            raise DeadlineExceeded("the source did not answer in time")
        found = self.documents[request]
        if isinstance(found, GatewayError):
            raise found
        return Document(found, DOCUMENTED_AT, is_stale=False)

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Any, Price]:
        self.priced += tokens
        return {one: Price(Decimal(self.prices[one]), PRICED_AT, ("test",)) for one in tokens if one in self.prices}
