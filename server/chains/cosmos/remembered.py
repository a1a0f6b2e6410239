"""The readers of a Cosmos chain with a memory: each as it is, asked only for what is not kept.

State is kept under the height it was read at, the one of the header `x-cosmos-block-height`. A block is final once it
is made, so documents are kept for good as soon as their height is known to be below the head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec
from waypost.v1 import block_pb2, cosmos_pb2, cosmos_validator_pb2, token_pb2, transaction_pb2

from server.chains.capabilities import Balance
from server.chains.memory import Codec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from server.chains.cosmos.accounts import AccountReader
    from server.chains.cosmos.bank import BankReader
    from server.chains.cosmos.blocks import BlockReader
    from server.chains.cosmos.staking import StakingReader
    from server.chains.cosmos.transactions import TransactionReader
    from server.chains.memory import ChainMemory
    from server.chains.view import ReadView

Answer = TypeVar("Answer")

# Wider than any number that the readers let through, and signed: refusing numbers is the readers' part.
_NUMBER_BYTES = 32


def _row(text: tuple[str, int | None, str, int | None, str | None]) -> Balance:
    return Balance(text[0], text[1], int(text[2]), text[3], text[4])


_PACKED = msgspec.msgpack.Decoder(tuple[str, int | None, str, int | None, str | None])
# Amounts go beyond the integers of any packed format.
_BALANCE: Codec[Balance] = Codec(
    lambda found: msgspec.msgpack.encode((found.address, found.block, str(found.raw), found.decimals, found.token)),
    lambda data: _row(_PACKED.decode(data)),
)
_METADATA = Codec(token_pb2.GetTokenMetadataResponse.SerializeToString, token_pb2.GetTokenMetadataResponse.FromString)
_SUPPLY = Codec(token_pb2.DenomSupply.SerializeToString, token_pb2.DenomSupply.FromString)
_ACCOUNT = Codec(cosmos_pb2.CosmosAccount.SerializeToString, cosmos_pb2.CosmosAccount.FromString)
_DELEGATIONS: Codec[list[cosmos_pb2.DelegationResponse]] = Codec(
    lambda rows: cosmos_pb2.GetDelegationsResponse(delegation_responses=rows).SerializeToString(),
    lambda data: list(cosmos_pb2.GetDelegationsResponse.FromString(data).delegation_responses),
)
_UNBONDINGS: Codec[list[cosmos_pb2.UnbondingResponse]] = Codec(
    lambda rows: cosmos_pb2.GetUnbondingDelegationsResponse(unbonding_responses=rows).SerializeToString(),
    lambda data: list(cosmos_pb2.GetUnbondingDelegationsResponse.FromString(data).unbonding_responses),
)
_REWARDS = Codec(cosmos_pb2.GetRewardsResponse.SerializeToString, cosmos_pb2.GetRewardsResponse.FromString)
_POOL = Codec(cosmos_pb2.StakingPool.SerializeToString, cosmos_pb2.StakingPool.FromString)
_VALIDATORS: Codec[list[cosmos_validator_pb2.Validator]] = Codec(
    lambda rows: cosmos_validator_pb2.GetValidatorsResponse(validators=rows).SerializeToString(),
    lambda data: list(cosmos_validator_pb2.GetValidatorsResponse.FromString(data).validators),
)
_VALIDATOR = Codec(cosmos_validator_pb2.Validator.SerializeToString, cosmos_validator_pb2.Validator.FromString)
_BLOCK = Codec(block_pb2.Block.SerializeToString, block_pb2.Block.FromString)
_TRANSACTIONS = Codec(
    block_pb2.GetBlockTransactionsResponse.SerializeToString, block_pb2.GetBlockTransactionsResponse.FromString
)
_RESULTS = Codec(
    cosmos_validator_pb2.GetBlockResultsResponse.SerializeToString,
    cosmos_validator_pb2.GetBlockResultsResponse.FromString,
)
_TRANSACTION = Codec(transaction_pb2.Transaction.SerializeToString, transaction_pb2.Transaction.FromString)
_RECEIPT = Codec(transaction_pb2.GetReceiptResponse.SerializeToString, transaction_pb2.GetReceiptResponse.FromString)


class RememberedState:
    """Balances, denoms, accounts and stakes of one chain behind its memory; see the readers' methods of these names."""

    def __init__(self, bank: BankReader, accounts: AccountReader, staking: StakingReader, memory: ChainMemory) -> None:
        self._bank = bank
        self._accounts = accounts
        self._staking = staking
        self._memory = memory

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """See `BankReader`."""
        return await self._recall(
            view,
            "balance",
            f"{address} {token}",
            _BALANCE,
            lambda: self._bank.read_token_balance(address, token, view),
        )

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """See `BankReader`."""
        return await self._recall(
            view, "metadata", address, _METADATA, lambda: self._bank.read_token_metadata(address, view)
        )

    async def read_supply(self, denom: str, view: ReadView) -> token_pb2.DenomSupply:
        """See `BankReader`."""
        return await self._recall(view, "supply", denom, _SUPPLY, lambda: self._bank.read_supply(denom, view))

    async def read_account(self, address: str, view: ReadView) -> cosmos_pb2.CosmosAccount:
        """See `AccountReader`."""
        return await self._recall(
            view, "account", address, _ACCOUNT, lambda: self._accounts.read_account(address, view)
        )

    async def read_delegations(self, delegator: str, view: ReadView) -> list[cosmos_pb2.DelegationResponse]:
        """See `StakingReader`."""
        return await self._recall(
            view, "delegations", delegator, _DELEGATIONS, lambda: self._staking.read_delegations(delegator, view)
        )

    async def read_unbondings(self, delegator: str, view: ReadView) -> list[cosmos_pb2.UnbondingResponse]:
        """See `StakingReader`."""
        return await self._recall(
            view, "unbondings", delegator, _UNBONDINGS, lambda: self._staking.read_unbondings(delegator, view)
        )

    async def read_rewards(self, delegator: str, view: ReadView) -> cosmos_pb2.GetRewardsResponse:
        """See `StakingReader`."""
        return await self._recall(
            view, "rewards", delegator, _REWARDS, lambda: self._staking.read_rewards(delegator, view)
        )

    async def read_pool(self, view: ReadView) -> cosmos_pb2.StakingPool:
        """See `StakingReader`."""
        return await self._recall(view, "pool", "", _POOL, lambda: self._staking.read_pool(view))

    async def read_validators(self, status: str | None, view: ReadView) -> list[cosmos_validator_pb2.Validator]:
        """See `StakingReader`."""
        return await self._recall(
            view, "validators", status or "", _VALIDATORS, lambda: self._staking.read_validators(status, view)
        )

    async def read_validator(self, operator: str, view: ReadView) -> cosmos_validator_pb2.Validator:
        """See `StakingReader`."""
        return await self._recall(
            view, "validator", operator, _VALIDATOR, lambda: self._staking.read_validator(operator, view)
        )

    async def _recall(
        self, view: ReadView, kind: str, question: str, codec: Codec[Answer], read: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        return await self._memory.read_state(view, kind, question.encode(), codec, read)


class RememberedBlocks:
    """Blocks and transactions of one chain behind its memory; see the readers' methods of these names."""

    def __init__(self, blocks: BlockReader, transactions: TransactionReader, memory: ChainMemory) -> None:
        self._blocks = blocks
        self._transactions = transactions
        self._memory = memory

    def block_hash(self, text: str) -> str:
        """See `BlockReader`."""
        return self._blocks.block_hash(text)

    def transaction_hash(self, text: str) -> str:
        """See `TransactionReader`."""
        return self._transactions.transaction_hash(text)

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """See `BlockReader`."""
        return await self._by_number(
            view, "block", number, _BLOCK, lambda: self._blocks.read_block_by_number(number, view)
        )

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """See `BlockReader`."""
        wanted = self.block_hash(block_hash)
        return await self._memory.read_document(
            view,
            "block-by-hash",
            wanted.encode(),
            _BLOCK,
            lambda: self._blocks.read_block_by_hash(wanted, view),
            lambda _: None,
        )

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """See `BlockReader`."""
        return await self._by_number(
            view,
            "block-transactions",
            number,
            _TRANSACTIONS,
            lambda: self._blocks.read_block_transactions(number, view),
        )

    async def read_block_results(self, number: int, view: ReadView) -> cosmos_validator_pb2.GetBlockResultsResponse:
        """See `BlockReader`."""
        return await self._by_number(
            view, "block-results", number, _RESULTS, lambda: self._blocks.read_block_results(number, view)
        )

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """See `TransactionReader`."""
        wanted = self.transaction_hash(text)
        return await self._memory.read_document(
            view,
            "transaction",
            wanted.encode(),
            _TRANSACTION,
            lambda: self._transactions.read_transaction(wanted, view),
            lambda found: int(found.cosmos.block_number),
        )

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """See `TransactionReader`."""
        wanted = self.transaction_hash(text)
        return await self._memory.read_document(
            view,
            "receipt",
            wanted.encode(),
            _RECEIPT,
            lambda: self._transactions.read_receipt(wanted, view),
            lambda found: int(found.cosmos.tx_response.height),
        )

    async def _by_number(
        self, view: ReadView, kind: str, number: int, codec: Codec[Answer], read: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        body = number.to_bytes(_NUMBER_BYTES, signed=True)
        return await self._memory.read_document(view, kind, body, codec, read, lambda _: number)
