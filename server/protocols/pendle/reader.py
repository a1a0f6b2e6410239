"""The contract addresses of yield-a on a chain, out of the address book: no request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import position_pool_pb2

from server.catalog.protocols import load_address_book
from server.protocols.plan import Plan

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices

_SLUG = "pendle"
_KEYS = frozenset({"router", "routerStatic"})


class InfoReader:
    """Answers from the address book alone."""

    def subject(self, question: ChainQuestion) -> tuple[str, str]:
        """Return the chain."""
        return _SLUG, question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> None:
        """Return None: there are no tables."""

    def plan(self, question: ChainQuestion, tables: None) -> Plan:
        """Return a plan without calls."""
        return Plan()

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices
    ) -> position_pool_pb2.GetYieldAV2InfoResponse:
        """Return the response without its `chain`; NotFound where the chain has not both contracts."""
        book = load_address_book()
        deployed = book.find_protocol(_SLUG).contracts
        return position_pool_pb2.GetYieldAV2InfoResponse(
            router_address=book.find_contract(_SLUG, question.chain, "router").address,
            router_static_address=book.find_contract(_SLUG, question.chain, "routerStatic").address,
            supported_chains=[chain for chain, contracts in deployed.items() if contracts.keys() >= _KEYS],
        )
