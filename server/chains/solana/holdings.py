"""What an account holds of lamports and of known mints, in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solders.pubkey import Pubkey

from server.chains.capabilities.accounts import Holding, Holdings, ReadsHoldings, is_accepted
from server.chains.shared.validated_reads import read_validated_together
from server.chains.solana import layouts
from server.chains.solana.answers import COMMITMENT, Accounts, account_bytes, read_accounts, read_amount, read_settled
from server.chains.solana.answers import read_holdings as read_token_accounts
from server.chains.solana.layouts import TOKEN_2022_PROGRAM, TOKEN_PROGRAM, parse_key
from server.chains.view import BlockAnswer
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities.accounts import KnownAsset
    from server.chains.facts import ChainFacts
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_STATE = {"commitment": COMMITMENT}
_BASE64 = {"commitment": COMMITMENT, "encoding": "base64"}
# Mint, owner and amount are the first 72 bytes of every token account; wallets may have thousands of them.
_AMOUNTS = _BASE64 | {"dataSlice": {"offset": 0, "length": 72}}


class _Held(NamedTuple):
    lamports: int
    amounts: dict[str, int]
    mints: list[Accounts]


class HoldingReader(ReadsHoldings):
    """Reads the holdings of accounts. Decimals are asked for once, for mints do not change them."""

    def __init__(self, facts: ChainFacts, pool: Pool, cache: ChainCache) -> None:
        self._facts = facts
        self._pool = pool
        self._decimals: dict[str, int] = cache.facts("decimals")

    def check_holder(self, address: str) -> str:
        """Return the address; InvalidArgument for what is no public key."""
        return str(parse_key(address, "address"))

    def is_holder(self, address: str) -> bool:
        """Return whether the text is a public key."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return lamports and the amounts of the mints, an owner's several accounts of one mint added up.

        The accounts of both token programs are looked through; those of other mints are passed over.
        """
        owner = parse_key(address, "address")
        unknown = [asset.address for asset in assets if asset.address not in self._decimals]
        calls: list[tuple[str, list[Any]]] = [
            ("getBalance", [str(owner), _STATE]),
            ("getTokenAccountsByOwner", [str(owner), {"programId": str(TOKEN_PROGRAM)}, _AMOUNTS]),
            ("getTokenAccountsByOwner", [str(owner), {"programId": str(TOKEN_2022_PROGRAM)}, _AMOUNTS]),
        ]
        if unknown:
            calls.append(("getMultipleAccounts", [unknown, _BASE64]))

        def read_all(results: Sequence[bytes]) -> tuple[int, _Held]:
            coin, plain, extended, *mints = results
            lamports = read_amount(coin)
            held = [read_token_accounts(result) for result in (plain, extended)]
            amounts: dict[str, int] = {}
            for accounts in held:
                for row in accounts.value:
                    mint, raw = _amount(account_bytes(row.account), owner)
                    amounts[mint] = amounts.get(mint, 0) + raw
            slot = min(lamports.context.slot, *(accounts.context.slot for accounts in held))
            return slot, _Held(lamports.value, amounts, [read_accounts(result, len(unknown)) for result in mints])

        async def read(avoid: frozenset[str]) -> BlockAnswer[_Held]:
            policy = CallPolicy(prefer=view.endpoint, avoid=avoid)
            (slot, held), endpoint = await read_validated_together(
                self._pool, calls, read_all, policy, deadline=view.deadline
            )
            return BlockAnswer(held, endpoint, slot)

        block_answer = await read_settled(self._pool, read, view)
        coins, amounts, mints = block_answer.answer
        for accounts in mints:
            self._learn(unknown, accounts)
        rows = [Holding(None, coins, self._facts.native.decimals)]
        for asset in assets:
            decimals = self._decimals.get(asset.address, asset.decimals)
            rows.append(Holding(asset.address, amounts.get(asset.address, 0), decimals))
        return Holdings(address, view.block, tuple(row for row in rows if row.raw))

    def _learn(self, mints: list[str], accounts: Accounts) -> None:
        for address, account in zip(mints, accounts.value, strict=True):
            data = None if account is None else account_bytes(account)
            mint = None if data is None else layouts.read_mint(data)
            if mint is not None:
                self._decimals[address] = mint.decimals


def _amount(data: bytes | None, owner: Pubkey) -> tuple[str, int]:
    """Return mint and raw amount out of the beginning of the owner's token account; ValueError where that is none."""
    if data is None or len(data) < 72 or data[32:64] != bytes(owner):
        raise ValueError("not a token account of the owner")
    return str(Pubkey.from_bytes(data[:32])), int.from_bytes(data[64:72], "little")
