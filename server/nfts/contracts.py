"""Reads NFT contracts of a caller's choice (contract section 4.6; EIP-721, EIP-1155).

Answers count more than claims: what contracts state about themselves decides only where their answers do not.
Everything that one answer needs is read at one block, most of it in one upstream request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.chains.capabilities.contracts import CallsContracts
from server.chains.view import read_in_steps
from server.contracts.calls import read_text
from server.errors import NotAToken, NotEnumerable, NotFound
from server.nfts import calls
from server.nfts.calls import PROBES, Asked, Standard, long_text, owner_in, probes, read_standard, uint_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.registry import Chains
    from server.chains.view import ReadView
    from server.contracts.calls import ContractCall, ContractOutcome

MAX_LISTED = 100
"""Most token ids of one account that are listed (contract section 4.6)."""

MAX_URI_BYTES = 2 << 20
"""Longest document address that is taken; whole documents with their images stand in them."""


class Collection(NamedTuple):
    """What a contract states of itself; None where it does not. `total_supply` is a number of tokens."""

    standard: Standard
    name: str | None
    symbol: str | None
    total_supply: int | None


class Token(NamedTuple):
    """One token: its owner (ERC-721 alone, checksummed), and its document's address as the contract states it."""

    standard: Standard
    owner: str | None
    uri: str | None
    is_multi: bool


class Listing(NamedTuple):
    """The first token ids of an account, and how many it has in all."""

    token_ids: list[int]
    total: int


class NftContracts:
    """Reads the NFT contracts of all EVM chains. Contracts and accounts are given checksummed.

    Every read settles its view. It raises NotAToken where the contract is none of the kind, Reverted for a refusal of
    the contract's own, GatewayError where no node answered.
    """

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def read_collection(self, chain: str, contract: str, view: ReadView) -> Collection:
        """Return what the contract states of itself; NotAToken for one that states nothing at all."""
        asked = [calls.name(contract), calls.symbol(contract), calls.total_supply(contract)]
        outcomes = await self._call(chain, [*probes(contract), *asked], view)
        standard = read_standard(outcomes)
        name, symbol, supply = outcomes[PROBES:]
        _refuse_fungible(chain, contract, standard)
        collection = Collection(
            standard=standard,
            name=read_text(name.data) if standard.is_answer(name) else None,
            symbol=read_text(symbol.data) if standard.is_answer(symbol) else None,
            total_supply=uint_in(supply) if standard.is_answer(supply) else None,
        )
        if not any(standard[:3]) and collection[1:] == (None, None, None):
            raise NotAToken(
                f"{contract} on {chain} is no NFT contract: it returns neither a standard, a name nor a supply",
                field="contract",
            )
        return collection

    async def read_owner(self, chain: str, contract: str, token_id: int, view: ReadView) -> str:
        """Return the owner of an ERC-721 token, checksummed; NotFound where it was never minted, or burnt."""
        outcomes = await self._call(chain, [*probes(contract), calls.owner_of(contract, token_id)], view)
        asked = Asked(chain, contract, "ERC-721", "ownerOf")
        return _owner(asked, token_id, read_standard(outcomes), outcomes[PROBES])

    async def read_token(self, chain: str, contract: str, token_id: int, view: ReadView) -> Token:
        """Return one token's owner and document address; NotFound where it was never minted, or burnt.

        Which of the standards' functions it has is not known before: it is asked for all of them at once.
        """
        return await read_in_steps(view, lambda trial: self._read_token(chain, contract, token_id, trial))

    async def _read_token(self, chain: str, contract: str, token_id: int, view: ReadView) -> Token:
        wanted = calls.of_any_token(contract, token_id)
        outcomes = await self._call(chain, [*probes(contract), *wanted], view)
        standard, answers = read_standard(outcomes), outcomes[PROBES:]
        is_single = standard.erc721 or (
            not standard.erc1155 and standard.is_answer(answers[0]) and owner_in(answers[0]) is not None
        )
        needed = (0, 1) if is_single else (2,) if standard.erc1155 else (0, 1, 2)
        # A failure without a reason may be for want of the gas that the others took.
        silent = [index for index in needed if not answers[index].succeeded and not answers[index].data]
        if silent:
            again = await self._call(chain, [wanted[index] for index in silent], view)
            for index, outcome in zip(silent, again, strict=True):
                answers[index] = outcome
        owner, uri, multi = answers
        if not is_single:
            text = long_text(multi, MAX_URI_BYTES) if standard.is_answer(multi) else None
            if text is not None or standard.erc1155:
                if not multi.succeeded and multi.data:
                    raise NotFound(f"{contract} on {chain} has no token {token_id}", field="tokenId")
                return Token(standard, None, text, True)
        asked = Asked(chain, contract, "ERC-721" if is_single else "NFT", "ownerOf")
        return Token(standard, _owner(asked, token_id, standard, owner), long_text(uri, MAX_URI_BYTES), False)

    async def read_balance(self, chain: str, contract: str, account: str, view: ReadView) -> int:
        """Return how many tokens of an ERC-721 contract the account holds."""
        outcomes = await self._call(chain, [*probes(contract), calls.balance_of(contract, account)], view)
        standard = read_standard(outcomes)
        _refuse_fungible(chain, contract, standard)
        return Asked(chain, contract, "ERC-721", "balanceOf").number(outcomes[PROBES], standard)

    async def read_tokens(self, chain: str, contract: str, account: str, view: ReadView) -> Listing:
        """Return the account's first 100 token ids in the contract's own order.

        Raises:
            NotEnumerable: the contract does not list the tokens of an account, whatever it states.
        """
        return await read_in_steps(view, lambda trial: self._read_tokens(chain, contract, account, trial))

    async def _read_tokens(self, chain: str, contract: str, account: str, view: ReadView) -> Listing:
        first = [*probes(contract), calls.balance_of(contract, account), calls.token_of(contract, account, 0)]
        outcomes = await self._call(chain, first, view)
        standard = read_standard(outcomes)
        balance, token = outcomes[PROBES:]
        total = Asked(chain, contract, "ERC-721", "balanceOf").number(balance, standard)
        found = uint_in(token) if standard.is_answer(token) else None
        if not standard.erc721_enumerable and (total == 0 or found is None):
            raise NotEnumerable(
                f"{contract} on {chain} does not list the tokens of an account (ERC721Enumerable)", field="contract"
            )
        wanted = min(total, MAX_LISTED)
        listed = [found] if wanted else []
        if wanted > 1:
            rest = [calls.token_of(contract, account, index) for index in range(1, wanted)]
            listed += [uint_in(outcome) for outcome in await self._call(chain, rest, view)]
        token_ids = [number for number in listed if number is not None]
        if len(token_ids) < wanted:
            raise NotEnumerable(
                f"{contract} on {chain} states that it lists the tokens of an account, and fails to", field="contract"
            )
        return Listing(token_ids, total)

    async def read_multi_balances(
        self, chain: str, contract: str, pairs: Sequence[tuple[str, int]], view: ReadView
    ) -> list[int]:
        """Return how much of an ERC-1155 token each account holds, for pairs of account and token id."""
        wanted = [calls.multi_balance(contract, account, token_id) for account, token_id in pairs]
        asked = Asked(chain, contract, "ERC-1155", "balanceOf(address,uint256)")
        outcomes = await self._call(chain, [*probes(contract), *wanted], view)
        standard = read_standard(outcomes)
        return [asked.number(outcome, standard) for outcome in outcomes[PROBES:]]

    async def _call(self, chain: str, wanted: Sequence[ContractCall], view: ReadView) -> list[ContractOutcome]:
        reader = self._chains.capability(chain, CallsContracts)
        return await reader.call_contracts(wanted, view, are_known=False)


def _refuse_fungible(chain: str, contract: str, standard: Standard) -> None:
    if standard.is_fungible:
        message = f"{contract} on {chain} is no NFT contract: its amounts have decimals, as ERC-20 tokens have"
        raise NotAToken(message, field="contract")


def _owner(asked: Asked, token_id: int, standard: Standard, outcome: ContractOutcome) -> str:
    owner = owner_in(outcome)
    if owner is not None and standard.is_answer(outcome):
        return owner
    # Of a contract that states nothing, a refusal with a reason is "no such token", one without "no such function".
    if standard.erc721 or (not standard.erc1155 and not outcome.succeeded and outcome.data):
        raise NotFound(f"{asked.contract} on {asked.chain} has no token {token_id}", field="tokenId")
    if standard.erc1155:
        raise NotAToken(
            f"{asked.contract} on {asked.chain} is ERC-1155: its tokens have no single owner", field="contract"
        )
    if outcome.succeeded and len(outcome.data) == 32 and not any(outcome.data):
        raise NotFound(f"{asked.contract} on {asked.chain} has no token {token_id}", field="tokenId")
    raise asked.refusal(outcome)
