"""The EVM family's driver: every capability of an EVM chain, on one pool and one planner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import token_pb2

from server.chains.capabilities import CallsContracts
from server.chains.evm.accounts import AccountReader
from server.chains.evm.approvals import ApprovalReader
from server.chains.evm.blocks import BlockReader
from server.chains.evm.calls import CallReader
from server.chains.evm.chain import EvmChain
from server.chains.evm.code import CodeReader
from server.chains.evm.contents import Contents
from server.chains.evm.contract_logs import ContractLogReader
from server.chains.evm.feeds import FeedReader
from server.chains.evm.gas import GasReader
from server.chains.evm.holdings import HoldingReader
from server.chains.evm.log_ranges import LogRanges
from server.chains.evm.log_scan import LogScanner
from server.chains.evm.log_windows import LogWindows
from server.chains.evm.logs import LogReader
from server.chains.evm.newest import NEWEST_CALL, Heights
from server.chains.evm.passthrough import EvmPassThrough
from server.chains.evm.planner import ReadPlanner
from server.chains.evm.reads import ContractCaller, RememberedReads
from server.chains.evm.remembered import RememberedBlocks, RememberedCode, RememberedTransactions
from server.chains.evm.simulations import Simulator
from server.chains.evm.token_units import TokenUnits
from server.chains.evm.tokens import TokenReader
from server.chains.evm.traces import TraceReader
from server.chains.evm.transactions import TransactionReader
from server.chains.evm.transfers import TransferReader
from server.chains.holdings import is_accepted
from server.chains.shared.chain_health import HeadReader, HeadSource
from server.contracts.address import parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from waypost.v1 import block_pb2, log_pb2, transaction_pb2

    from server.catalog.feeds import Feed
    from server.chains.capabilities import (
        Allowance,
        Approvals,
        Balance,
        BlockRange,
        CallRequest,
        CallResult,
        Code,
        EventPage,
        GasEstimate,
        GasPrice,
        Health,
        Quote,
        Simulation,
        State,
        TokenFacts,
        UnsignedCall,
    )
    from server.chains.facts import ChainFacts
    from server.chains.holdings import Holdings, KnownAsset
    from server.chains.memory import ChainMemory
    from server.chains.view import ReadView
    from server.upstream.pool import Pool


class EvmDriver:
    """Reads one EVM chain. `judges_age` is False where blocks are made only while somebody asks (local nodes).

    Reads at a block that the caller chose tell a block that does not exist yet (NotFound) from one whose state is gone
    (ArchiveRequired).
    """

    def __init__(self, facts: ChainFacts, pool: Pool, memory: ChainMemory, *, judges_age: bool = True) -> None:
        self.chain = EvmChain.of(facts)
        self.pool = pool
        self.memory = memory
        self.planner = ReadPlanner(self.chain, pool)
        reads = self._reads = RememberedReads(self.planner, memory)
        self._heights = Heights(facts.slug, pool)
        self._heads = HeadReader(facts.block_time, HeadSource(pool, NEWEST_CALL), judges_age=judges_age)
        self._blocks = RememberedBlocks(BlockReader(self.chain, pool), memory)
        self._accounts = AccountReader(self.chain, reads)
        self._tokens = TokenReader(self.chain, reads)
        self._holdings = HoldingReader(self.chain, reads)
        self._approvals = ApprovalReader(facts.slug, reads)
        self._code = RememberedCode(CodeReader(self.chain, pool, self.planner), memory)
        self._calls = CallReader(self.chain, pool)
        self._simulator = Simulator(self._calls)
        self._passthrough = EvmPassThrough(pool)
        self._gas = GasReader(self.chain, pool, self.planner, reads)
        self._feeds = FeedReader(reads)
        self._transactions = RememberedTransactions(TransactionReader(self.chain, pool), memory)
        windows = LogWindows(facts.slug, pool)
        scanner = LogScanner(facts.slug, pool, LogRanges(pool.labels), Contents(facts))
        self._logs = LogReader(windows, scanner)
        self._contract_logs = ContractLogReader(windows, scanner)
        self.capabilities: Mapping[object, object] = {
            CallsContracts: ContractCaller(self.chain, pool, reads, self._heights)
        }
        self._traces = TraceReader(facts.slug, pool, TransactionReader(self.chain, pool))
        self._transfers = TransferReader(facts, windows, scanner, TokenUnits(reads))

    def canonical_address(self, text: str) -> str:
        """See `WritesAddresses`."""
        return parse_address(text, "address")

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
        return await self._blocks.read_block_by_number(number, view)

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """See `ReadsBlocks`."""
        return await self._blocks.read_block_by_hash(block_hash, view)

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """See `ReadsBlockTransactions`."""
        return await self._blocks.read_block_transactions(number, view)

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """See `ReadsBalances`."""
        return await self._heights.explain(self._accounts.read_balance(address, view), view)

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """See `ReadsTokenBalances`."""
        return await self._heights.explain(self._tokens.read_token_balance(address, token, view), view)

    async def read_token(self, address: str, view: ReadView) -> TokenFacts:
        """Return what the token says about itself; NotAToken where there is none."""
        return await self._heights.explain(self._tokens.read_token(address, view), view)

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """See `ReadsTokenMetadata`."""
        token = await self.read_token(address, view)
        return token_pb2.GetTokenMetadataResponse(
            address=token.address,
            evm=token_pb2.EvmTokenMetadata(
                block_height=token.block,
                name=token.name,
                symbol=token.symbol,
                decimals=token.decimals,
                total_supply=str(token.total_supply),
            ),
        )

    async def read_allowance(self, token: str, owner: str, spender: str, view: ReadView) -> Allowance:
        """See `ReadsAllowances`."""
        return await self._heights.explain(self._tokens.read_allowance(token, owner, spender, view), view)

    def check_holder(self, address: str) -> str:
        """See `ReadsHoldings`."""
        return parse_address(address, "address")

    def is_holder(self, address: str) -> bool:
        """See `ReadsHoldings`."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """See `ReadsHoldings`."""
        return await self._holdings.read_holdings(address, assets, view)

    async def read_approvals(self, address: str, view: ReadView) -> Approvals:
        """See `ReadsApprovals`."""
        return await self._heights.explain(self._approvals.read_approvals(address, view), view)

    def revoke_approval(self, address: str, token: str, spender: str) -> UnsignedCall:
        """See `ReadsApprovals`."""
        return self._approvals.revoke_approval(address, token, spender)

    async def read_code(self, address: str, view: ReadView) -> Code:
        """See `ReadsCode`."""
        return await self._heights.explain(self._code.read_code(address, view), view)

    async def read_program_size(self, address: str, view: ReadView) -> int:
        """See `ReadsPrograms`."""
        return len((await self._code.read_code(address, view)).code)

    async def simulate_call(self, call: CallRequest, view: ReadView) -> CallResult:
        """See `SimulatesCalls`."""
        return await self._heights.explain(self._calls.simulate_call(call, view), view, "block")

    async def estimate_gas(self, call: CallRequest, view: ReadView) -> GasEstimate:
        """See `EstimatesGas`."""
        return await self._calls.estimate_gas(call, view)

    async def read_gas_price(self, view: ReadView) -> GasPrice:
        """See `ReadsGasPrices`."""
        return await self._gas.read_gas_price(view)

    async def read_feeds(self, feeds: Sequence[Feed], view: ReadView) -> list[Quote | None]:
        """See `ReadsFeeds`."""
        return await self._feeds.read_feeds(feeds, view)

    async def simulate_transaction(self, call: CallRequest, view: ReadView) -> Simulation:
        """See `SimulatesTransactions`."""
        return await self._heights.explain(self._simulator.simulate_transaction(call, view), view, "height")

    async def search_events(
        self,
        blocks: BlockRange,
        address: str,
        topics: Sequence[bytes | None],
        view: ReadView,
        *,
        keep: Callable[[int, int], bool],
        limit: int,
        most_blocks: int,
    ) -> EventPage:
        """See `SearchesEvents`."""
        return await self._contract_logs.search_events(
            blocks, address, topics, view, keep=keep, limit=limit, most_blocks=most_blocks
        )

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """See `PassesCalls`."""
        return await self._passthrough.pass_call(method, params, view)

    def transaction_hash(self, text: str) -> str:
        """See `ReadsTransactions`."""
        return self._transactions.transaction_hash(text)

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """See `ReadsTransactions`."""
        return await self._transactions.read_transaction(text, view)

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """See `ReadsReceipts`."""
        return await self._transactions.read_receipt(text, view)

    async def read_logs(
        self, blocks: BlockRange, address: str | None, topic0: str | None, view: ReadView
    ) -> log_pb2.GetLogsResponse:
        """See `ReadsLogs`."""
        return await self._logs.read_logs(blocks, address, topic0, view)

    async def read_transfers(self, blocks: BlockRange, address: str, view: ReadView) -> log_pb2.GetTransfersResponse:
        """See `ReadsTransfers`."""
        return await self._transfers.read_transfers(blocks, address, view)

    async def read_trace(self, text: str, view: ReadView) -> transaction_pb2.TraceTransactionResponse:
        """See `TracesTransactions`."""
        return await self._traces.read_trace(text, view)

    async def close(self) -> None:
        """Give up everything in flight."""
        await self.memory.close()
        await self.planner.close()
        await self.pool.close()
