"""What a chain's driver can do, one small protocol per group of operations, a module per noun.

Servicers ask a chain for a capability, never for a family. A driver has a capability by an entry in its map of
capabilities, or by having its methods. All reads take the request's `ReadView` and settle it. Figures that other
operations build on are frozen values; documents are messages.
"""

from server.chains.capabilities.accounts import Balance, ReadsBalances
from server.chains.capabilities.blocks import (
    ReadsBlocks,
    ReadsBlockTransactions,
    ReadsReceipts,
    ReadsTransactions,
    TracesTransactions,
)
from server.chains.capabilities.contracts import (
    CallRequest,
    CallResult,
    CallsContracts,
    Code,
    Quote,
    ReadsCode,
    ReadsFeeds,
    SimulatedLog,
    SimulatesCalls,
    SimulatesTransactions,
    Simulation,
)
from server.chains.capabilities.drivers import (
    Driver,
    Health,
    PassesCalls,
    ReadsHeads,
    ReadsHealth,
    State,
    WritesAddresses,
)
from server.chains.capabilities.gas import EstimatesGas, GasEstimate, GasPrice, ReadsGasPrices
from server.chains.capabilities.logs import (
    BlockRange,
    ContractLog,
    EventPage,
    ReadsLogs,
    ReadsTransfers,
    SearchesEvents,
)
from server.chains.capabilities.tokens import (
    Allowance,
    Approval,
    Approvals,
    ReadsAllowances,
    ReadsApprovals,
    ReadsMints,
    ReadsTokenBalances,
    ReadsTokenMetadata,
    TokenFacts,
    UnsignedCall,
)

__all__ = [
    "Allowance",
    "Approval",
    "Approvals",
    "Balance",
    "BlockRange",
    "CallRequest",
    "CallResult",
    "CallsContracts",
    "Code",
    "ContractLog",
    "Driver",
    "EstimatesGas",
    "EventPage",
    "GasEstimate",
    "GasPrice",
    "Health",
    "PassesCalls",
    "Quote",
    "ReadsAllowances",
    "ReadsApprovals",
    "ReadsBalances",
    "ReadsBlockTransactions",
    "ReadsBlocks",
    "ReadsCode",
    "ReadsFeeds",
    "ReadsGasPrices",
    "ReadsHeads",
    "ReadsHealth",
    "ReadsLogs",
    "ReadsMints",
    "ReadsReceipts",
    "ReadsTokenBalances",
    "ReadsTokenMetadata",
    "ReadsTransactions",
    "ReadsTransfers",
    "SearchesEvents",
    "SimulatedLog",
    "SimulatesCalls",
    "SimulatesTransactions",
    "Simulation",
    "State",
    "TokenFacts",
    "TracesTransactions",
    "UnsignedCall",
    "WritesAddresses",
]
