"""What a wallet has in a vault of vault-a, by the rule of the vault's kind.

| kind | worth of shares | priced by |
|---|---|---|
| standard | `getPricePerFullShare` times 1e18 per share | Beefy's document |
| erc4626 | `convertToAssets` | Beefy's document |
| gov | as many as were staked | Beefy's document |
| cowcentrated | `previewWithdraw`, of both tokens | the gateway's own prices |

Most wants are tokens of liquidity that nothing but Beefy's documents has a price of, and its values of vaults are
computed of the same. A token of which it has none falls back on the gateway's own price. Of a vault of two tokens it
states a price per share alone, in a unit that its sources do not state; the two tokens have prices of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import yield_share_pb2

from server.contracts.address import parse_address
from server.contracts.interface import Interface
from server.protocols.beefy.yields import find_vault
from server.protocols.plan import ContractUnreadable, Group, More, Plan, Token
from server.protocols.tokens import BALANCE_GAS, BALANCE_OF, TokenFacts, describe, read_facts
from server.protocols.yields import MANY_SHARES, Held, Worth, balance_of, block_clock, oldest, read_block_time, value
from server.yields import beefy

if TYPE_CHECKING:
    from server.apis.documents import Document
    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import TokenPrices
    from server.protocols.yields import PoolQuestion
    from server.yields.beefy import Vault

_VAULT = Interface.load("server.protocols.beefy", "vault")
_PRICE = _VAULT["getPricePerFullShare"]
_CONVERT = _VAULT["convertToAssets"]
_PREVIEW = _VAULT["previewWithdraw"]
_WANTS = _VAULT["wants"]

# A vault calls its strategy, which calls the protocols below it.
_WORTH_GAS = 1_500_000
_UNIT = 10**18
_DOCUMENTS = (beefy.VAULTS, beefy.POOL_PRICES, beefy.TOKEN_PRICES)


class _Price(NamedTuple):
    """What a whole token costs by Beefy's document, and that document."""

    usd: float
    document: Document


class BalanceReader:
    """Reads balances; it needs no tables."""

    def subject(self, question: PoolQuestion) -> tuple[str, str]:
        """Return the chain."""
        return beefy.NAME, question.chain

    def load(self, question: PoolQuestion, outcomes: Outcomes) -> None:
        """Return None."""

    def plan(self, question: PoolQuestion, tables: None) -> Plan:
        """Return the documents, which determine what to call."""
        return Plan(documents=_DOCUMENTS)

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices
    ) -> yield_share_pb2.YieldBalance | More:
        """Return the wallet's row, zeros included.

        Raises:
            NotFound: no such vault on the chain; names the nearest ids, or the vault's chain.
            UpstreamUnavailable: the list of vaults is not to be had, or a contract does not answer as its kind does.
        """
        vault = find_vault(outcomes.document(beefy.VAULTS).value, question)
        price = _price(vault, outcomes)
        if "wallet" not in outcomes:
            return More(_plan(vault, question, is_priced=price is not None))
        shares: int = outcomes["wallet"][0].read_one(BALANCE_OF)
        amounts = _worth(vault, shares, outcomes)
        if amounts is None:
            # Asked for what the wallet has itself: as many shares were too many for the contract.
            return More(Plan({"again": Group((_worth_call(vault, shares, is_optional=False),), is_known=False)}))
        clock, tokens = outcomes["vault"][0], _read_tokens(vault, outcomes)
        held = [
            Held(token.symbol, token.address, amount / 10**token.decimals)
            for token, amount in zip(tokens, amounts, strict=True)
        ]
        worth = value(held, vault.chain, prices) if price is None else _value(held, price)
        row = yield_share_pb2.YieldBalance(
            balance=balance_of(held, worth.usd),
            block_height=outcomes.block_of("vault"),
        )
        row.updated_at.FromDatetime(oldest(read_block_time(clock), worth.updated_at))
        return row


def _plan(vault: Vault, question: PoolQuestion, *, is_priced: bool) -> Plan:
    """Return the calls of the vault, which serve every wallet, and that of the wallet.

    The addresses are those that an API lists: they have executions of their own.
    """
    calls: list[ContractCall] = [block_clock(question.chain)]
    tokens = _tokens(vault)
    for token in tokens:
        calls += describe(token)
    if vault.kind == beefy.COWCENTRATED:
        calls.append(_WANTS.call(_address(vault.address)))
    if vault.kind != beefy.GOV:
        calls.append(_worth_call(vault, MANY_SHARES, is_optional=vault.kind != beefy.STANDARD))
    wallet = BALANCE_OF.call(_address(vault.address), question.address, gas=BALANCE_GAS)
    return Plan(
        {"vault": Group(tuple(calls), is_known=False), "wallet": Group((wallet,), is_known=False)},
        prices=() if is_priced else tuple(Token(vault.chain, token) for token in tokens),
    )


def _worth_call(vault: Vault, shares: int, *, is_optional: bool) -> ContractCall:
    address = _address(vault.address)
    if vault.kind == beefy.STANDARD:
        return _PRICE.call(address, gas=_WORTH_GAS)
    function = _PREVIEW if vault.kind == beefy.COWCENTRATED else _CONVERT
    return function.call(address, shares, gas=_WORTH_GAS, is_optional=is_optional)


def _worth(vault: Vault, shares: int, outcomes: Outcomes) -> list[int] | None:
    """Return what shares are worth in each token's smallest units; None where the vault did not answer."""
    if vault.kind == beefy.GOV:
        return [shares]
    returned = outcomes["vault"][-1]
    if vault.kind == beefy.STANDARD:
        return [shares * int(returned.read_one(_PRICE)) // _UNIT]
    function = _PREVIEW if vault.kind == beefy.COWCENTRATED else _CONVERT
    if "again" in outcomes:
        return list(outcomes["again"][0].read(function))
    if not shares:
        # A vault without any shares divides by none.
        return [0] * len(_tokens(vault) or (vault.symbol,))
    found = returned.read_if_answered(function)
    return None if found is None else [shares * each // MANY_SHARES for each in found]


def _read_tokens(vault: Vault, outcomes: Outcomes) -> list[TokenFacts]:
    """Return what the tokens are; ContractUnreadable where a vault of two has others than its document states."""
    returned: tuple[Answered, ...] = outcomes["vault"][1:]
    tokens = _tokens(vault)
    if not tokens:
        return [TokenFacts("", vault.symbol, vault.decimals)]
    if vault.kind == beefy.COWCENTRATED:
        wants = returned[2 * len(tokens)].read(_WANTS)
        if tuple(wants) != tokens:
            raise ContractUnreadable(
                f"the vault {vault.id} of vault-a on {vault.chain} holds other tokens than its list says",
                retry_after_ms=60_000,
            )
    return [read_facts(*returned[2 * place : 2 * place + 2]) for place in range(len(tokens))]


def _tokens(vault: Vault) -> tuple[str, ...]:
    """Return the addresses of what the vault takes, none for the chain's coin."""
    tokens = vault.tokens if vault.kind == beefy.COWCENTRATED else (vault.token,)
    return tuple(_address(token) for token in tokens if token is not None)


def _price(vault: Vault, outcomes: Outcomes) -> _Price | None:
    """Return the price that Beefy's documents have of the vault's token."""
    document = None if vault.kind == beefy.COWCENTRATED else outcomes.find_document(vault.prices)
    usd: float | None = None if document is None else document.value.get(vault.oracle_id)
    return None if document is None or usd is None else _Price(usd, document)


def _value(held: list[Held], price: _Price) -> Worth:
    return Worth(sum(one.amount for one in held) * price.usd, price.document.read_at)


def _address(text: str) -> str:
    return parse_address(text.lower(), "pool")
