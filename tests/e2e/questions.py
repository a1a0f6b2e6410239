"""One question for every working operation, and questions that must be refused, asked of the devnet over both faces.

A new operation adds a line to `QUESTIONS`; a test notices when one is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import ParseDict

from devnet import known, known_cosmos, known_solana
from devnet.cosmos.world import CHAINS, address, operator
from runtime.operations import Operation, load_operations

if TYPE_CHECKING:
    from google.protobuf.message import Message

OPERATIONS = {operation.name: operation for operation in load_operations()}
SOL = {"chain": "solana"}
SOL_ALICE, SOL_USDC = str(known_solana.ALICE), str(known_solana.USDC)
HUB = {"chain": "cosmoshub"}
HUB_ALICE, HUB_BOB, HUB_NOBODY = (
    address(CHAINS["cosmoshub"], name) for name in (known_cosmos.ALICE, known_cosmos.BOB, known_cosmos.UNTOUCHED)
)
HUB_OPERATOR = operator(CHAINS["cosmoshub"], 1)
HUB_STAKED = CHAINS["cosmoshub"].first + known_cosmos.STAKED_AT
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
BALANCE_OF = "0x70a08231" + known.VITALIK[2:].lower().rjust(64, "0")


@dataclass(frozen=True)
class Question:
    """What is asked: the method and its parameters, items as an array."""

    method: str
    params: Any = field(default_factory=dict)
    note: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.note}".strip()

    @property
    def operation(self) -> Operation:
        """The operation asked."""
        return OPERATIONS[self.method]

    def message(self) -> Message:
        """Return the same question as a request message, through protobuf's own JSON reader."""
        members = {"items": self.params} if isinstance(self.params, list) else self.params
        return ParseDict(members, self.operation.request())


TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
NO_HASH = "0x" + "ab" * 32


def ethereum(**params: Any) -> dict[str, Any]:
    """Return parameters on ethereum; `from_` becomes `from`."""
    return {"chain": "ethereum", **{name.rstrip("_"): value for name, value in params.items()}}


QUESTIONS = [
    Question("getHealth"),
    Question("getChainHealth", ethereum()),
    Question("getBlockHeight", ethereum()),
    Question("getBlockTransactions", ethereum(blockNumber=26050010), "crowded"),
    Question("getBlockByNumber", [ethereum(block=26050010), {"chain": "polygon", "block": 1}], "one missing"),
    Question("getBlockByHash", [ethereum(hash="latest")], "hash filled in"),
    Question("getBalance", ethereum(address=known.VITALIK)),
    Question("getBalance", {"chain": "arbitrum", "address": known.VITALIK.lower()}, "arbitrum, lower case"),
    Question("getBalance", ethereum(address=known.VITALIK, blockHeight=26050000), "history"),
    Question("getTokenBalance", ethereum(address=known.VITALIK, token=USDC)),
    Question("getTokenBalance", ethereum(address=known.VITALIK, token=known.WHOLE_TOKEN), "no decimals"),
    Question("getTokenMetadata", ethereum(address=known.MKR), "bytes32 texts"),
    Question("getTokenMetadata", ethereum(address=known.NAMELESS_TOKEN), "neither name nor symbol"),
    Question("getTokenMetadata", ethereum(address=known.UNICODE_TOKEN), "outside ASCII"),
    Question("getTokenAllowance", ethereum(address=USDC, owner=known.VITALIK, spender=known.ALICE)),
    Question("getCode", ethereum(address=known.DELEGATED), "delegated account"),
    Question("getCode", ethereum(address=known.UNTOUCHED), "no code"),
    Question("simulateCall", ethereum(to=USDC, data=BALANCE_OF)),
    Question("estimateGas", ethereum(to=known.BOB, from_=known.ALICE, value="0x1")),
    Question("getApprovals", ethereum(address=known.VITALIK)),
    Question("getApprovals", {"chain": "polygon", "address": known.UNTOUCHED}, "none given"),
    Question("getApprovalsRevoke", ethereum(address=known.VITALIK, token=USDC, spender=known.BOB)),
    Question("chainRpc", ethereum(method="eth_chainId")),
    Question("compareGas"),
    Question("getLogs", ethereum(fromBlock="26050010", toBlock="26050010"), "crowded"),
    Question("getLogs", ethereum(fromBlock="26050000", address=USDC, topic0=TRANSFER), "filtered"),
    Question("getLogs", ethereum(fromBlock="26050000", toBlock="26050020", cursor="26050010"), "cursor"),
    Question("getLogs", ethereum(fromBlock="99000000"), "beyond the head"),
    Question("getTransfers", ethereum(address=known.VITALIK)),
    Question("getTransfers", {"chain": "polygon", "address": known.BOB, "fromBlock": "0"}, "polygon"),
    Question("getReceipt", ethereum(hash="latest"), "transaction filled in"),
    Question("getTransactionByHash", [ethereum(hash="latest"), ethereum(hash=NO_HASH)], "transaction filled in"),
    Question("traceTransaction", ethereum(hash="latest"), "transaction filled in"),
    Question("getChainHealth", HUB),
    Question("getTokenBalance", HUB | {"address": HUB_ALICE, "token": known_cosmos.IBC_DENOM}, "ibc denom"),
    Question("getTokenMetadata", HUB | {"address": "uatom"}, "denom"),
    Question("getDenomSupply", HUB | {"denom": known_cosmos.IBC_DENOM}),
    Question("getAccount", HUB | {"address": HUB_ALICE}),
    Question("getAccount", HUB | {"address": HUB_BOB}, "no key known"),
    Question("getDelegations", HUB | {"delegator": HUB_ALICE}),
    Question("getUnbondingDelegations", HUB | {"delegator": HUB_ALICE}),
    Question("getRewards", HUB | {"delegator": HUB_BOB}),
    Question("getValidators", HUB),
    Question("getValidators", HUB | {"status": "BOND_STATUS_UNBONDED"}, "unbonded"),
    Question("getValidator", HUB | {"validator": HUB_OPERATOR}),
    Question("getStakingPool", HUB),
    Question("getBlockResults", HUB | {"blockNumber": HUB_STAKED}),
    Question("getBlockTransactions", HUB | {"blockNumber": HUB_STAKED}, "cosmoshub"),
    Question("getBlockByNumber", [HUB | {"block": HUB_STAKED}, ethereum(block=26050010)], "families mixed"),
    Question("chainRpc", HUB | {"method": "abci_info"}, "cosmoshub"),
    Question("getChainHealth", SOL, "solana"),
    Question("getBlockHeight", SOL, "solana"),
    Question("getBalance", SOL | {"address": SOL_ALICE}, "solana"),
    Question("getTokenBalance", SOL | {"address": SOL_ALICE, "token": SOL_USDC}, "several accounts of one mint"),
    Question("getTokenMetadata", SOL | {"address": SOL_USDC}, "metaplex"),
    Question("getTokenMetadata", SOL | {"address": str(known_solana.TOKEN_2022)}, "extension"),
    Question("getTokenMetadata", SOL | {"address": str(known_solana.NAMELESS)}, "a mint without metadata"),
    Question(
        "getBlockByNumber",
        [SOL | {"block": known_solana.VERSIONED_SLOT}, SOL | {"block": known_solana.SKIPPED[0]}],
        "one slot skipped",
    ),
    Question("getTransactionByHash", [SOL | {"hash": known_solana.VERSIONED}], "of version 0"),
    Question("getTransactionByHash", [SOL | {"hash": known_solana.FAILED}], "failed on chain"),
    Question("chainRpc", SOL | {"method": "getGenesisHash"}, "solana"),
]

REFUSED = [
    Question("getBalance", {}, "nothing"),
    Question("getBalance", ethereum(), "no address"),
    Question("getBalance", ethereum(address="0x1234"), "short address"),
    Question("getBalance", ethereum(address="0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045"), "wrong checksum"),
    Question("getBalance", ethereum(address="0x" + "a" * 5000), "oversized address"),
    Question("getBalance", {"chain": "etherum", "address": known.VITALIK}, "unknown chain"),
    Question("getBalance", {"chain": "cosmoshub", "address": known.VITALIK}, "family without the operation"),
    Question("getBalance", SOL | {"address": known.VITALIK}, "another family's address"),
    Question("getBalance", SOL | {"address": SOL_ALICE, "blockHeight": 5}, "history on Solana"),
    Question("getTokenBalance", SOL | {"address": SOL_ALICE, "token": SOL_ALICE}, "no mint"),
    Question("getTokenMetadata", SOL | {"address": "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1"}, "short Base58"),
    Question("getBlockByNumber", [SOL | {"block": known_solana.SKIPPED[0]}], "skipped slot"),
    Question("getBlockByNumber", [SOL | {"block": 5}], "pruned slot"),
    Question("getBlockByHash", [SOL | {"hash": known_solana.VERSIONED}], "family without the operation, Solana"),
    Question("getTransactionByHash", [SOL | {"hash": NO_HASH}], "another family's hash"),
    Question("chainRpc", SOL | {"method": "sendTransaction"}, "a write on Solana"),
    Question("getAccount", {"chain": "ethereum", "address": HUB_ALICE}, "family without the operation"),
    Question("getAccount", HUB | {"address": HUB_ALICE[:-1] + "b"}, "wrong checksum"),
    Question("getAccount", HUB | {"address": HUB_NOBODY}, "never used"),
    Question("getDelegations", HUB | {"delegator": HUB_OPERATOR}, "an operator for an account"),
    Question("getUnbondingDelegations", HUB | {"delegator": known.VITALIK}, "an EVM address"),
    Question("getRewards", HUB, "no delegator"),
    Question("getValidator", HUB | {"validator": HUB_ALICE}, "an account for an operator"),
    Question("getStakingPool", {"chain": "bitcoin"}, "family without the operation"),
    Question("getBlockResults", HUB | {"blockNumber": 0}, "block 0"),
    Question("getBlockResults", HUB | {"blockNumber": 99_000_000}, "missing block"),
    Question("getDenomSupply", HUB | {"denom": "ibc/12"}, "short ibc hash"),
    Question("chainRpc", HUB | {"method": "broadcast_tx_sync"}, "a write"),
    Question("getBalance", ethereum(address=known.VITALIK, blockHeight=-1), "negative height"),
    Question("getBalance", ethereum(address=known.VITALIK, blockHeight=99_000_000), "height beyond the head"),
    Question("getTokenBalance", ethereum(address=known.VITALIK, token=known.PROBER), "no token"),
    Question("getTokenBalance", ethereum(address=known.VITALIK, token=known.UNTOUCHED), "no contract"),
    Question("getTokenMetadata", ethereum(address=known.DESTROYED_TOKEN), "self-destructed"),
    Question("getTokenAllowance", ethereum(address=USDC, owner=known.VITALIK), "no spender"),
    Question("simulateCall", ethereum(to=USDC), "no data"),
    Question("simulateCall", ethereum(to=USDC, data="0x1"), "odd hex"),
    Question("simulateCall", ethereum(to=known.REVERT_BOMBER, data="0x"), "reverts"),
    Question("estimateGas", ethereum(to=known.REVERT_BOMBER), "reverts"),
    Question("getCode", ethereum(address="vitalik"), "no address at all"),
    Question("getBlockByNumber", [], "no items"),
    Question(
        "getBlockByNumber", [ethereum(block=26050010), {"chain": "nowhere", "block": 1}], "unknown chain in an item"
    ),
    Question("getBlockByNumber", [ethereum(block=1)] * 51, "51 items"),
    Question("getBlockByNumber", [ethereum(block=99_000_000)], "only a missing block"),
    Question("getBlockByHash", [ethereum(hash="0x12")], "short hash"),
    Question("getBlockTransactions", ethereum(blockNumber=99_000_000), "missing block"),
    Question("getBlockTransactions", {"chain": "bitcoin", "blockNumber": 1}, "family without the operation"),
    Question("getChainHealth", {"chain": ""}, "empty chain"),
    Question("getApprovals", ethereum(), "no address"),
    Question("getApprovals", ethereum(address="vitalik.eth"), "a name for an address"),
    Question("getApprovals", {"chain": "solana", "address": known.VITALIK}, "family without the operation"),
    Question("getApprovalsRevoke", ethereum(address=known.VITALIK, token=USDC), "no spender"),
    Question("getApprovalsRevoke", ethereum(address=known.VITALIK, token="0x12", spender=known.BOB), "short token"),
    Question("chainRpc", ethereum(), "no method"),
    Question("chainRpc", ethereum(method="eth_sendRawTransaction"), "a write"),
    Question("chainRpc", ethereum(method="eth_getLogs"), "no filter"),
    Question("chainRpc", {"chain": "bitcoin", "method": "getblockcount"}, "family not built"),
    Question("getLogs", {}, "nothing"),
    Question("getLogs", ethereum(fromBlock="5", toBlock="4"), "reversed"),
    Question("getLogs", ethereum(fromBlock="-1"), "negative block"),
    Question("getLogs", ethereum(cursor="page two"), "no cursor"),
    Question("getLogs", ethereum(cursor="5:9:7"), "contradicting cursor"),
    Question("getLogs", ethereum(address="0x1234"), "short address"),
    Question("getLogs", ethereum(topic0="0x" + "ab" * 3000), "oversized topic"),
    Question("getLogs", {"chain": "nowhere"}, "unknown chain"),
    Question("getLogs", {"chain": "solana"}, "family without the operation"),
    Question("getTransfers", ethereum(), "no address"),
    Question("getTransfers", ethereum(address="0x" + "a" * 5000), "oversized address"),
    Question("getTransfers", ethereum(address=known.VITALIK, fromBlock="5", toBlock="4"), "reversed"),
    Question("getTransfers", {"chain": "nowhere", "address": known.VITALIK}, "unknown chain"),
    Question("getTransfers", {"chain": "bitcoin", "address": known.VITALIK}, "family without the operation"),
    Question("getReceipt", ethereum(), "no hash"),
    Question("getReceipt", ethereum(hash="0x12"), "short hash"),
    Question("getReceipt", ethereum(hash="0x" + "ab" * 3000), "oversized hash"),
    Question("getReceipt", ethereum(hash=NO_HASH), "unknown hash"),
    Question("getReceipt", {"chain": "nowhere", "hash": NO_HASH}, "unknown chain"),
    Question("getReceipt", {"chain": "bitcoin", "hash": NO_HASH}, "family without the operation"),
    Question("getTransactionByHash", [ethereum(hash=NO_HASH)], "only an unknown hash"),
    Question("getTransactionByHash", [ethereum(hash=NO_HASH), ethereum(hash="0x12")], "one short hash"),
    Question("getTransactionByHash", [{"chain": "bitcoin", "hash": NO_HASH}], "family without the operation"),
    Question("getTransactionByHash", [{"chain": "nowhere", "hash": NO_HASH}], "unknown chain"),
    Question("traceTransaction", ethereum(hash="0x" + "0" * 64), "unknown hash"),
    Question("traceTransaction", ethereum(), "no hash"),
    Question("traceTransaction", ethereum(hash="0x" + "ab" * 3000), "oversized hash"),
    Question("traceTransaction", {"chain": "nowhere", "hash": NO_HASH}, "unknown chain"),
    Question("traceTransaction", {"chain": "starknet", "hash": NO_HASH}, "family without the operation"),
]
