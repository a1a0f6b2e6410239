"""One reader's question on its way: its tables, its plan, what came of it so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from server.errors import GatewayError, PriceUnavailable, UpstreamUnavailable
from server.protocols.plan import ContractUnreadable, More, Outcomes, Renewed, StaleTables

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.protocols.plan import Plan
    from server.protocols.reader import ChainQuestion, Reader, TokenPrices

NONSENSE = (ArithmeticError, ValueError, LookupError)
"""Readers compute with what contracts return; what cannot be computed with is not an answer."""

# What readers make of contracts' answers; other failures are of nodes.
_OF_CONTRACTS = (ContractUnreadable, PriceUnavailable)

_log = structlog.get_logger("waypost.protocols")


class Branch:
    """One reader's question on its way."""

    def __init__(
        self,
        reader: Reader[Any, Any],
        question: ChainQuestion,
        plan: Callable[[Reader[Any, Any], ChainQuestion, Any], Plan],
    ) -> None:
        self.reader = reader
        self.question = question
        self._plan = plan
        self.tables: Any = None
        self.prices: TokenPrices = {}
        self.is_renewed = False
        self.renewed: Any = None
        self.result: Any | GatewayError | None = None
        self.outcomes = Outcomes()
        self.plan: Plan

    @property
    def was_answered(self) -> bool:
        """Whether the question has an answer, or what failed it is what contracts of its chain returned."""
        if not isinstance(self.result, GatewayError) or isinstance(self.result, _OF_CONTRACTS):
            return True
        return self.question.chain in self.outcomes.chains

    def begin(self, tables: Any) -> None:
        """Plan with these tables."""
        self.tables = tables
        self.outcomes = Outcomes()
        self._attempt(lambda: setattr(self, "plan", self._plan(self.reader, self.question, tables)))

    def advance(self) -> bool:
        """Build the answer of what was read, or see what is to be read besides; return whether the tables are old."""
        if self.result is not None:
            return False
        try:
            self._attempt(self._build)
        except StaleTables:
            return True
        return False

    def close(self) -> Any | GatewayError:
        """Return the answer or the failure."""
        if self.result is None:
            return UpstreamUnavailable(
                f"the protocol on {self.question.chain} takes more steps to read than there may be; try again",
                retry_after_ms=1000,
            )
        return self.result

    def _build(self) -> None:
        built = self.reader.build(self.question, self.outcomes, self.tables, self.prices)
        if isinstance(built, More):
            self.plan = built.plan
        elif isinstance(built, Renewed):
            self.result, self.renewed = built
        else:
            self.result = built

    def _attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
        except GatewayError as error:
            self.result = error
        except NONSENSE as error:
            self.result = unreadable(self.question.chain, error)


def unreadable(chain: str, error: Exception) -> ContractUnreadable:
    """Return the failure of a reader that could not compute with what contracts returned."""
    _log.warning("a protocol's contracts returned what cannot be", chain=chain, why=repr(error))
    return ContractUnreadable(
        f"the contracts of the protocol on {chain} returned figures that cannot be; try again", retry_after_ms=1000
    )
