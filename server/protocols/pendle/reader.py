"""The contract addresses of yield-a on a chain, out of the address book: no request."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import position_pool_pb2, yield_share_pb2

from server.catalog.protocols import load_address_book
from server.chains.facts import load_facts
from server.errors import NotFound, UpstreamUnavailable
from server.protocols.pendle.market import SLUG, check_proof, load_market, proof
from server.protocols.plan import Group, Plan
from server.protocols.yields import block_clock, oldest, read_block_time
from server.yields import pendle
from server.yields.pendle import Flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.apis.documents import DocumentRequest
    from server.protocols.pendle.market import Market
    from server.protocols.plan import More, Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices
    from server.protocols.yields import PoolQuestion
    from server.yields.pendle import Transaction


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


# An entry is a purchase with a known rate: principal tokens per unit of the asset. What left the wallet since reduces
# everything that it had at that moment in the same proportion (average cost). What is left of each entry is its
# weight.

_DAY_SECONDS = 86_400
_YEAR_DAYS = 365
_CONTEXT = Context(prec=40)
# Amounts are sums of the source's floating figures: less than that part of all that was bought is nothing.
_DUST = Decimal("1e-9")
_MOST_NAMED = 10


class Entered(NamedTuple):
    """What is left of a wallet's entries: the rate by which they were made, and what it earns, in percent per year."""

    rate: float
    apy: float


@dataclass(slots=True)
class _Lot:
    """What is left of one entry; `rate` is None where what was received has no known price."""

    amount: Decimal
    rate: Decimal | None
    at: float


def weigh(transactions: Sequence[Transaction], expiry: int) -> Entered | None:
    """Return the entries by the principal tokens that are left of each; None where none is left, or none has a rate.

    `expiry` is in unix seconds; what each earns counts from its own day on, `rate^(365 / days) - 1`.

    Raises:
        OverflowError: an entry so close to expiry that its rate per year is no figure.
    """
    left = [lot for lot in _lots(transactions) if lot.rate is not None and lot.at < expiry]
    whole = sum((lot.amount for lot in left), Decimal(0))
    bought = sum((one.amount for one in transactions if one.flow is Flow.IN), Decimal(0))
    if whole <= bought * _DUST:
        return None
    rate = apy = Decimal(0)
    for lot in left:
        assert lot.rate is not None
        days = Decimal(expiry - lot.at) / _DAY_SECONDS
        rate = _CONTEXT.add(rate, _CONTEXT.multiply(lot.amount, lot.rate))
        yearly = _CONTEXT.power(lot.rate, _CONTEXT.divide(Decimal(_YEAR_DAYS), days)) - 1
        apy = _CONTEXT.add(apy, _CONTEXT.multiply(lot.amount, yearly))
    return Entered(float(_CONTEXT.divide(rate, whole)), float(_CONTEXT.divide(apy, whole)) * 100)


def _lots(transactions: Sequence[Transaction]) -> list[_Lot]:
    lots: list[_Lot] = []
    for one in sorted(transactions, key=lambda one: one.at):
        if one.flow is Flow.IN:
            lots.append(_Lot(one.amount, one.rate, one.at.timestamp()))
        elif one.flow is Flow.OUT:
            held = sum((lot.amount for lot in lots), Decimal(0))
            part = max(Decimal(0), 1 - one.amount / held) if held else Decimal(0)
            for lot in lots:
                lot.amount *= part
    return lots


class ImpliedReader:
    """Reads what a wallet's principal tokens earn; tables are what of its market never changes."""

    def subject(self, question: PoolQuestion) -> tuple[str, str, str]:
        """Return the market."""
        return SLUG, question.chain, question.pool

    def load(self, question: PoolQuestion, outcomes: Outcomes) -> Market | More:
        """Return the market, or what has to be read for it; NotFound where it is none of the protocol's."""
        return load_market(question.chain, question.pool, outcomes)

    def plan(self, question: PoolQuestion, tables: Market) -> Plan:
        """Return the proof of the market with the time, and side by side the wallet's transactions."""
        groups = {"proof": proof(tables), "clock": Group((block_clock(question.chain),))}
        return Plan(groups, documents=(_transactions(question),))

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Market, prices: TokenPrices
    ) -> yield_share_pb2.ImpliedYield:
        """Return the row without chain, pool and wallet.

        Raises:
            NotFound: no entry with a known rate, or nothing is left of them; names the actions that there are.
            UpstreamUnavailable: the source of transactions fails.
        """
        check_proof(outcomes["proof"][0])
        now = read_block_time(outcomes["clock"][0])
        document = outcomes.document(_transactions(question))
        transactions: Sequence[Transaction] = document.value
        try:
            entered = weigh(transactions, tables.expiry)
        except (ArithmeticError, ValueError):
            raise UpstreamUnavailable(f"{pendle.NAME} states entries whose rate per year is no figure") from None
        if entered is None:
            raise _no_entry(transactions)
        row = yield_share_pb2.ImpliedYield(
            effective_pt_exchange_rate=entered.rate,
            days_to_expiry=max(0, tables.expiry - int(now.timestamp())) // _DAY_SECONDS,
            implied_apy=entered.apy,
            block_height=outcomes.block_of("proof"),
        )
        row.expiry_date.FromSeconds(tables.expiry)
        row.updated_at.FromDatetime(oldest(now, document.read_at))
        return row


def _transactions(question: PoolQuestion) -> DocumentRequest:
    chain_id = load_facts()[question.chain].chain_id
    return pendle.transactions_of(int(chain_id), question.address, question.pool)


def _no_entry(transactions: Sequence[Transaction]) -> NotFound:
    seen = sorted({one.action for one in transactions})[:_MOST_NAMED]
    if not seen:
        return NotFound("the wallet has no transactions in this market", field="address")
    is_sold = any(one.rate is not None and one.flow is Flow.IN for one in transactions)
    why = (
        "nothing is left of the principal tokens that it bought at a known rate"
        if is_sold
        else "the wallet bought no principal tokens at a known rate"
    )
    return NotFound(f"{why}; its actions in this market are {', '.join(seen)}", field="address")
