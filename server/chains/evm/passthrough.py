"""Calls of callers' own choice to EVM nodes, passed on if they are reads within bounds."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.chains.capabilities.blocks import PassesCalls
from server.chains.evm.calls.call import PLAIN_CALLS
from server.chains.evm.newest import read_newest_height
from server.chains.shared.passthrough import CALLERS_OWN, AllowList, check_members, load_strictly, refuse
from server.chains.shared.validated_reads import read_validated
from server.chains.view import ReadView
from server.contracts.words import json_count, quantity
from server.errors import GatewayError, RangeTooLarge

if TYPE_CHECKING:
    from collections.abc import Mapping

    import msgspec

    from server.chains.capabilities.accounts import ReadsBalances
    from server.upstream.connector import CallPolicy
    from server.upstream.pool import Pool

_BALANCE = "eth_getBalance"
# An account at the newest block, or at a height.
_PLAIN_BALANCE = re.compile(
    rb'\[ ?"(?P<address>0[xX][0-9a-fA-F]{40})"(?: ?, ?"(?:latest|0x(?P<block>0|[1-9a-fA-F][0-9a-fA-F]{0,11}))")? ?\]'
)
_LOG_MEMBERS = ("fromBlock", "toBlock", "blockHash", "address", "topics")
# A head that was reported longer ago is read again: the logs above it would be lost.
_LATELY_SECONDS = 2.0
# Tags that name the head or a block a little below it.
_NEAR_HEAD = frozenset({"latest", "pending", "safe", "finalized"})


class EvmPassThrough(PassesCalls):
    """The capability `PassesCalls` of an EVM chain.

    `balances` reads what callers share: a balance at the newest block, or at a height where `history_is_pinned`.
    """

    def __init__(self, pool: Pool, balances: ReadsBalances, *, history_is_pinned: bool = True) -> None:
        self._pool = pool
        self._balances = balances
        self._history_is_pinned = history_is_pinned

    async def pass_call(self, method: str, params: bytes | None, view: ReadView, *, is_shared: bool = False) -> bytes:
        """Return the JSON of the node's result, byte for byte; see `PassesCalls`.

        Raises:
            InvalidArgument: the method or its parameters are not passed on (fields `method`, `params`).
            RangeTooLarge: the logs of more blocks than are passed on at once.
            GatewayError: what the node's error means.
        """
        if is_shared and method == _BALANCE and params is not None:
            balance = await self._read_balance(params, view)
            if balance is not None:
                return balance
        items: Any = ALLOWED.parse(method, params)
        if method == "eth_getLogs":
            await self._check_open_range(load_strictly(items[0]), view)
        policy = ALLOWED.share(method, params) if is_shared else CALLERS_OWN
        if method in PLAIN_CALLS:
            policy = _made_up(policy)
        try:
            return await ALLOWED.pass_on(self._pool, method, items, policy, deadline=view.deadline)
        except RangeTooLarge:
            numbered = await self._with_head(method, items, view)
            if numbered is None:
                raise
            return (await self._pool.call(method, numbered, policy, deadline=view.deadline)).result

    async def _read_balance(self, params: bytes, view: ReadView) -> bytes | None:
        """Return a balance out of the cache, or of an execution with other callers' reads; None where that cannot be.

        Whatever fails there is asked of the node itself, whose words its callers are to have.
        """
        found = _PLAIN_BALANCE.fullmatch(params)
        if found is None or (found["block"] and not self._history_is_pinned):
            return None
        if found["block"]:
            view = ReadView(block=int(found["block"], 16), deadline=view.deadline, cache=view.cache)
        try:
            balance = await self._balances.read_balance(found["address"].decode().lower(), view)
        except GatewayError:
            return None
        return b'"%#x"' % balance.raw

    async def _with_head(self, method: str, items: list[msgspec.Raw], view: ReadView) -> list[object] | None:
        """Return the parameters of a log search with the newest block for `latest`; None where none is named so.

        go-ethereum measures a range that ends at `latest`, or is left open, as if it ended at 2^64-1 (--rpc.rangelimit;
        go-ethereum issue 35692).
        """
        wanted = load_strictly(items[0]) if method == "eth_getLogs" else {"blockHash": None}
        named = [end for end in ("fromBlock", "toBlock") if wanted.get(end) in (None, "latest")]
        if "blockHash" in wanted or not named:
            return None
        heads = self._pool.heads
        head = heads.head()
        ages = [age for label in self._pool.labels if (age := heads.age(label)) is not None]
        if head is None or min(ages, default=_LATELY_SECONDS) >= _LATELY_SECONDS:
            head = (await read_newest_height(self._pool, view.deadline)).block
        return [wanted | dict.fromkeys(named, hex(head)), *items[1:]]

    async def _check_open_range(self, wanted: dict[str, Any], view: ReadView) -> None:
        """Check a range that ends, or begins, at the head, for which the head has to be known."""
        first, last = _block(wanted.get("fromBlock")), _block(wanted.get("toBlock"))
        if "blockHash" in wanted or (first is None) == (last is None):
            return
        head = self._pool.heads.head()
        if head is None:
            newest, _ = await read_validated(self._pool, "eth_blockNumber", [], json_count, deadline=view.deadline)
            head = newest
        most = ALLOWED.options("eth_getLogs", "logs")["most"]
        _check_range(head if first is None else first, head if last is None else last, most)


def check_logs(value: Any, where: str, options: Mapping[str, Any]) -> None:
    """Check a log filter: known members, and a range within bounds as far as it is written in numbers."""
    wanted = check_members(value, where, _LOG_MEMBERS)
    ends = []
    for name in ("fromBlock", "toBlock"):
        text = wanted.get(name)
        try:
            ends.append(_block(text))
        except ValueError:
            raise refuse(f"{where}.{name}", "a hex block number or a block tag is needed") from None
    if wanted.get("fromBlock") in ("safe", "finalized") and ends[1] is not None:
        raise refuse(f"{where}.fromBlock", "where toBlock is a number, a number is needed")
    if ends[0] is not None and ends[1] is not None:
        _check_range(ends[0], ends[1], options["most"])


@lru_cache(maxsize=8)
def _made_up(policy: CallPolicy) -> CallPolicy:
    return replace(policy, may_be_refused=True)


def _block(text: object) -> int | None:
    """Return the block of a number or `earliest`; None for the head and tags near it; ValueError for anything else."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError("no block")
    if text in _NEAR_HEAD:
        return None
    return 0 if text == "earliest" else quantity(text)


def _check_range(first: int, last: int, most: int) -> None:
    if last - first >= most:
        raise RangeTooLarge(
            f"params: the logs of {most} blocks at most are passed on at once; getLogs reads longer ranges in pages",
            field="params",
        )


ALLOWED = AllowList(Path(__file__).with_name("passthrough.toml"), {"logs": check_logs})
"""What is passed on to EVM nodes."""
