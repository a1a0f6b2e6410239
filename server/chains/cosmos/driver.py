"""The Cosmos family's driver: every capability of a Cosmos SDK chain, on its two pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.cosmos.accounts import AccountReader
from server.chains.cosmos.answers import NEWEST_CALL
from server.chains.cosmos.bank import BankReader, HoldingReader
from server.chains.cosmos.blocks import BlockReader
from server.chains.cosmos.names import parse_account
from server.chains.cosmos.remembered import RememberedBlocks, RememberedState
from server.chains.cosmos.staking import StakingReader
from server.chains.cosmos.transactions import TransactionReader
from server.chains.holdings import is_accepted
from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.passthrough import PassThrough, allow_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from waypost.v1 import block_pb2, cosmos_pb2, cosmos_validator_pb2, token_pb2, transaction_pb2

    from server.chains.capabilities import Balance, Health, State
    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.holdings import Holdings, KnownAsset
    from server.chains.memory import ChainMemory
    from server.chains.view import ReadView


class CosmosDriver:
    """Reads one Cosmos chain. `judges_age` is False where blocks are made only while somebody asks (local nodes)."""

    def __init__(self, nodes: CosmosNodes, memory: ChainMemory, *, judges_age: bool = True) -> None:
        self.capabilities: Mapping[object, object] = {}
        self.nodes = nodes
        self.memory = memory
        self._heads = HeadReader(nodes.facts.block_time, HeadSource(nodes.rest, NEWEST_CALL), judges_age=judges_age)
        self._blocks = BlockReader(nodes)
        self._holdings = HoldingReader(nodes)
        self._transactions = TransactionReader(nodes)
        self._state = RememberedState(BankReader(nodes), AccountReader(nodes), StakingReader(nodes), memory)
        self._documents = RememberedBlocks(self._blocks, self._transactions, memory)
        self._passthrough = PassThrough(nodes.comet, allow_list("cosmos"))

    async def read_health(self) -> Health:
        """See `ReadsHealth`."""
        return await self._heads.read_health()

    def last_state(self) -> State | None:
        """See `ReadsHealth`."""
        return self._heads.last_state()

    async def read_height(self, view: ReadView) -> int:
        """See `ReadsHeads`."""
        return await self._heads.read_height(view)

    def block_hash(self, text: str) -> str:
        """See `ReadsBlocks`."""
        return self._blocks.block_hash(text)

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """See `ReadsBlocks`."""
        return await self._documents.read_block_by_number(number, view)

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """See `ReadsBlocks`."""
        return await self._documents.read_block_by_hash(block_hash, view)

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """See `ReadsBlockTransactions`."""
        return await self._documents.read_block_transactions(number, view)

    async def read_block_results(self, number: int, view: ReadView) -> cosmos_validator_pb2.GetBlockResultsResponse:
        """See `ReadsBlockResults`."""
        return await self._documents.read_block_results(number, view)

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """See `ReadsTokens`."""
        return await self._state.read_token_balance(address, token, view)

    def check_holder(self, address: str) -> str:
        """See `ReadsHoldings`."""
        return parse_account(address, self.nodes.facts.bech32, "address")

    def is_holder(self, address: str) -> bool:
        """See `ReadsHoldings`."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """See `ReadsHoldings`."""
        return await self._holdings.read_holdings(address, assets, view)

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """See `ReadsTokenMetadata`."""
        return await self._state.read_token_metadata(address, view)

    async def read_supply(self, denom: str, view: ReadView) -> token_pb2.DenomSupply:
        """See `ReadsSupplies`."""
        return await self._state.read_supply(denom, view)

    async def read_account(self, address: str, view: ReadView) -> cosmos_pb2.CosmosAccount:
        """See `ReadsAccounts`."""
        return await self._state.read_account(address, view)

    async def read_delegations(self, delegator: str, view: ReadView) -> list[cosmos_pb2.DelegationResponse]:
        """See `ReadsStaking`."""
        return await self._state.read_delegations(delegator, view)

    async def read_unbondings(self, delegator: str, view: ReadView) -> list[cosmos_pb2.UnbondingResponse]:
        """See `ReadsStaking`."""
        return await self._state.read_unbondings(delegator, view)

    async def read_rewards(self, delegator: str, view: ReadView) -> cosmos_pb2.GetRewardsResponse:
        """See `ReadsStaking`."""
        return await self._state.read_rewards(delegator, view)

    async def read_pool(self, view: ReadView) -> cosmos_pb2.StakingPool:
        """See `ReadsStaking`."""
        return await self._state.read_pool(view)

    async def read_validators(self, status: str | None, view: ReadView) -> list[cosmos_validator_pb2.Validator]:
        """See `ReadsStaking`."""
        return await self._state.read_validators(status, view)

    async def read_validator(self, operator: str, view: ReadView) -> cosmos_validator_pb2.Validator:
        """See `ReadsStaking`."""
        return await self._state.read_validator(operator, view)

    def transaction_hash(self, text: str) -> str:
        """See `ReadsTransactions`."""
        return self._transactions.transaction_hash(text)

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """See `ReadsTransactions`."""
        return await self._documents.read_transaction(text, view)

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """See `ReadsReceipts`."""
        return await self._documents.read_receipt(text, view)

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """See `PassesCalls`."""
        return await self._passthrough.pass_call(method, params, view)

    async def close(self) -> None:
        """Give up everything in flight."""
        await self.memory.close()
        await self.nodes.close()
