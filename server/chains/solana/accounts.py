"""Native balances and SPL tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from solders.pubkey import Pubkey
from waypost.v1 import token_pb2

from server.chains.capabilities.accounts import (
    Balance,
    ReadsBalances,
    ReadsMints,
    ReadsTokenBalances,
    ReadsTokenMetadata,
)
from server.chains.capabilities.contracts import ReadsPrograms
from server.chains.shared.validated_reads import read_validated, read_validated_together
from server.chains.solana import layouts
from server.chains.solana.answers import (
    COMMITMENT,
    Account,
    Accounts,
    Context,
    Count,
    account_bytes,
    parsed_info,
    read_accounts,
    read_amount,
    read_holdings,
    read_settled,
    read_value,
)
from server.chains.solana.layouts import (
    METADATA_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
    metadata_address,
    parse_key,
)
from server.chains.view import NO_ENDPOINTS, BlockAnswer, ReadView
from server.errors import NotAToken, NotSupported, UpstreamUnavailable
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.chains.facts import ChainFacts
    from server.chains.shared.cache import ChainCache
    from server.chains.solana.layouts import Mint, Texts
    from server.upstream.pool import Pool


_STATE = {"commitment": COMMITMENT}
_BASE64 = {"commitment": COMMITMENT, "encoding": "base64"}
_MOST_DECIMALS = 255
_TOKEN_PROGRAMS = {str(TOKEN_PROGRAM), str(TOKEN_2022_PROGRAM)}


class AccountReader(ReadsBalances, ReadsTokenBalances, ReadsTokenMetadata, ReadsMints):
    """Reads accounts of the chain as they are now: nodes keep no older state."""

    def __init__(self, facts: ChainFacts, pool: Pool, cache: ChainCache) -> None:
        self._facts = facts
        self._pool = pool
        self._decimals: dict[str, int] = cache.facts("decimals")

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the lamports of an address, 0 for one that was never used; NotSupported for a chosen block."""
        refuse_history(view)
        key = parse_key(address, "address")
        block_answer = await read_value(self._pool, "getBalance", [str(key), _STATE], read_amount, view)
        return Balance(address, block_answer.block, block_answer.answer, self._facts.native.decimals)

    def check_token(self, token: str) -> str:
        """Return the address; InvalidArgument for what is none."""
        return self.check_mint(token, "token")

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """Return how much of a mint an owner holds in all accounts together, of whichever token program the mint is.

        Accounts and mint are asked for in one request to one node.
        """
        refuse_history(view)
        owner, mint = parse_key(address, "address"), parse_key(token, "token")
        calls = [
            ("getTokenAccountsByOwner", [str(owner), {"mint": str(mint)}, _BASE64]),
            ("getMultipleAccounts", [[str(mint)], _BASE64]),
        ]

        def read_all(results: Sequence[bytes]) -> tuple[int, Accounts, int]:
            held, minted = results
            holdings = read_holdings(held)
            raw = sum(_amount(row.account, mint, owner) for row in holdings.value)
            return holdings.context.slot, read_accounts(minted, 1), raw

        async def read(avoid: frozenset[str]) -> BlockAnswer[tuple[Accounts, int]]:
            (slot, accounts, raw), endpoint = await read_validated_together(
                self._pool, calls, read_all, CallPolicy(avoid=avoid), deadline=view.deadline
            )
            return BlockAnswer((accounts, raw), endpoint, slot)

        try:
            block_answer = await read_settled(self._pool, read, view)
        except NotAToken:
            raise self._no_mint(token, "token") from None
        accounts, raw = block_answer.answer
        return Balance(address, block_answer.block, raw, self._mint(accounts, token, "token").decimals, token)

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """Return the facts of a mint, without `chain`; NotAToken where the address holds none.

        The texts are those of the mint's own extension, else of the account that its pointer names, else
        Metaplex's; None where there are none.
        """
        refuse_history(view)
        key = parse_key(address, "address")
        metaplex = metadata_address(key)

        async def read(avoid: frozenset[str]) -> BlockAnswer[Accounts]:
            return await self._accounts([key, metaplex], view, avoid)

        answer = (await read_settled(self._pool, read, view)).answer
        mint = self._mint(answer, address, "address")
        texts = await self._texts(key, mint, metaplex, answer.value[1:], view)
        return token_pb2.GetTokenMetadataResponse(
            address=address,
            solana=token_pb2.SolanaTokenMetadata(
                block_height=answer.context.slot,
                name=texts.name,
                symbol=texts.symbol,
                uri=texts.uri,
                decimals=mint.decimals,
                total_supply=str(mint.supply),
            ),
        )

    def check_mint(self, mint: str, field: str) -> str:
        """See `ReadsMints`."""
        return str(parse_key(mint, field))

    async def read_decimals(self, mints: Mapping[str, str], view: ReadView) -> dict[str, int]:
        """See `ReadsMints`; mints do not change them, so each is asked for once."""
        keys = {field: parse_key(mint, field) for field, mint in mints.items()}
        known = {field: self._decimals[str(key)] for field, key in keys.items() if str(key) in self._decimals}
        missing = {field: key for field, key in keys.items() if field not in known}
        if missing:

            async def read(avoid: frozenset[str]) -> BlockAnswer[Accounts]:
                return await self._accounts(list(missing.values()), view, avoid)

            found = (await read_settled(self._pool, read, view)).answer.value
            for (field, key), account in zip(missing.items(), found, strict=True):
                known[field] = self._decimals[str(key)] = self._mint_in(account, mints[field], field).decimals
        return known

    async def _texts(
        self, key: Pubkey, mint: Mint, metaplex: Pubkey, found: list[Account | None], view: ReadView
    ) -> Texts:
        own = layouts.own_texts(mint, bytes(key))
        if own is not None:
            return own
        named = layouts.pointed_at(mint)
        if named is not None and named not in (bytes(key), bytes(metaplex)):
            keys = [Pubkey.from_bytes(named)]
            try:
                block_answer = await self._accounts(keys, view)
            except UpstreamUnavailable:
                # Every machine that was asked is a moment behind: its older state is used, for texts seldom change.
                block_answer = await self._accounts(keys, ReadView(deadline=view.deadline))
            pointed = _texts_in(block_answer.answer.value, key)
            if pointed is not None:
                return pointed
        return _texts_in(found, key) or layouts.NO_TEXTS

    async def _accounts(
        self, keys: list[Pubkey], view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS
    ) -> BlockAnswer[Accounts]:
        # A second read must not be older than the first, whichever machine answers it.
        since = {} if view.block is None else {"minContextSlot": view.block}
        params: list[Any] = [[str(key) for key in keys], _BASE64 | since]
        policy = CallPolicy(min_block=view.block, prefer=view.endpoint, avoid=avoid)
        answer, endpoint = await read_validated(
            self._pool,
            "getMultipleAccounts",
            params,
            lambda result: read_accounts(result, len(keys)),
            policy,
            deadline=view.deadline,
        )
        return BlockAnswer(answer, endpoint, answer.context.slot)

    def _mint(self, answer: Accounts, written: str, field: str) -> Mint:
        return self._mint_in(answer.value[0], written, field)

    def _mint_in(self, account: Account | None, written: str, field: str) -> Mint:
        mint = None
        if account is not None and account.owner in _TOKEN_PROGRAMS:
            data = account_bytes(account)
            mint = _parsed_mint(account) if data is None else layouts.read_mint(data)
        if mint is None:
            raise self._no_mint(written, field)
        return mint

    def _no_mint(self, written: str, field: str) -> NotAToken:
        return NotAToken(f"{written} is no mint of a token program on {self._facts.slug}", field=field)


def refuse_history(view: ReadView) -> None:
    """Raise NotSupported (field `blockHeight`) for a block that the caller chose: nodes keep the latest state alone."""
    if view.is_chosen:
        raise NotSupported(
            "blockHeight: Solana nodes keep no state of older slots; leave it out to read the latest",
            field="blockHeight",
        )


def _texts_in(accounts: list[Account | None], key: Pubkey) -> Texts | None:
    """Return what a metadata account states of a mint: Metaplex's, or another Token-2022 mint's own."""
    account = accounts[0] if accounts else None
    data = None if account is None else account_bytes(account)
    if account is None or data is None:
        return None
    if account.owner == str(METADATA_PROGRAM):
        return layouts.metaplex_texts(data, bytes(key))
    if account.owner == str(TOKEN_2022_PROGRAM) and (other := layouts.read_mint(data)) is not None:
        return layouts.own_texts(other, bytes(key))
    return None


def _amount(account: Account, mint: Pubkey, owner: Pubkey) -> int:
    """Return the raw amount in what a node returned as the owner's account of the mint; ValueError where it is not."""
    data = account_bytes(account)
    if data is None:
        raw = _parsed_amount(account, mint, owner)
    else:
        raw = layouts.read_holding(data, bytes(mint), bytes(owner))
    if raw is None or account.owner not in _TOKEN_PROGRAMS:
        raise ValueError("not a token account of the mint")
    return raw


def _parsed_amount(account: Account, mint: Pubkey, owner: Pubkey) -> int | None:
    info = parsed_info(account, "account")
    is_right = info is not None and (info.get("mint"), info.get("owner")) == (str(mint), str(owner))
    amount = info.get("tokenAmount") if info is not None and is_right else None
    return _digits(amount.get("amount")) if isinstance(amount, dict) else None


def _parsed_mint(account: Account) -> Mint | None:
    info = parsed_info(account, "mint")
    if info is None or info.get("isInitialized") is not True:
        return None
    supply, decimals = _digits(info.get("supply")), info.get("decimals")
    if supply is None or type(decimals) is not int or not 0 <= decimals <= _MOST_DECIMALS:
        return None
    return layouts.Mint(supply, decimals, {})


def _digits(text: object) -> int | None:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() else None


# None of the data itself is requested.
_CONFIG = {"commitment": COMMITMENT, "encoding": "base64", "dataSlice": {"offset": 0, "length": 0}}


class _Program(msgspec.Struct):
    executable: bool
    space: Count


class _Found(msgspec.Struct):
    context: Context
    value: _Program | None


_read_program = msgspec.json.Decoder(_Found).decode


class ProgramReader(ReadsPrograms):
    """Distinguishes programs from other accounts."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read_program_size(self, address: str, view: ReadView) -> int:
        """Return the bytes that a program's account holds, 0 where there is no account or none that is executable.

        Of an upgradeable program it is the account at its address, not the one with its code.
        """
        refuse_history(view)
        key = parse_key(address, "address")
        program = (await read_value(self._pool, "getAccountInfo", [str(key), _CONFIG], _read_program, view)).answer
        return program.space if program is not None and program.executable else 0
