"""The rate of stake-a for the comparison of all pools: what its oracle last reported."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from waypost.v1 import yield_pb2, yield_protocol_pb2

from server.catalog.protocols import load_address_book
from server.protocols.plan import Group, Plan, Token
from server.protocols.tokens import TOTAL_SUPPLY
from server.protocols.yields import BestRow, PoolForm, YieldEntry, apy_of_apr, block_clock, oldest, read_block_time
from server.yields.rebases import newest_rebase

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices

_HOME = "ethereum"
_SLUG = "lido"
_SYMBOL, _STAKED = "stETH", "ETH"
_DECIMALS = 18


class StakingReader:
    """Reads the row of the rebasing token; it needs no tables."""

    def subject(self, question: ChainQuestion) -> tuple[str, str, str]:
        """Return the chain."""
        return _SLUG, "yields", question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> None:
        """Return None."""

    def plan(self, question: ChainQuestion, tables: None) -> Plan:
        """Return what is staked, what that is worth, and the newest report."""
        token = _token(question.chain)
        return Plan(
            {"staked": Group((block_clock(question.chain), TOTAL_SUPPLY.call(token)))},
            prices=(Token(question.chain, token),),
            documents=(newest_rebase(question.chain, token),),
        )

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices
    ) -> tuple[BestRow, ...]:
        """Return one row, whose pool is the token; without a rate (NaN) where there was no report for weeks.

        Raises:
            GatewayError: the logs could not be searched, or the token does not answer.
        """
        token = _token(question.chain)
        found = outcomes.document(newest_rebase(question.chain, token))
        clock, supply = outcomes["staked"]
        staked = Decimal(supply.read_one(TOTAL_SUPPLY)).scaleb(-_DECIMALS)
        price = prices.get((question.chain, token))
        row = yield_pb2.BestYield(
            pool=token,
            symbol=_SYMBOL,
            apy=math.nan if found.value is None else apy_of_apr(found.value.apr),
            tvl=None if price is None else float(staked * price.value),
            block_height=outcomes.block_of("staked"),
        )
        reported = None if found.value is None else found.value.reported_at
        row.updated_at.FromDatetime(
            oldest(read_block_time(clock), reported, None if price is None else price.updated_at)
        )
        return (BestRow(row, (_SYMBOL, _STAKED)),)


def _token(chain: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, _SYMBOL).address


YIELDS = YieldEntry(
    protocol=yield_protocol_pb2.YIELD_PROTOCOL_STAKE_A,
    chains=(_HOME,),
    pool=PoolForm.ADDRESS,
    type=yield_protocol_pb2.YIELD_TYPE_STAKING,
    readers={},
    best=StakingReader(),
)
