"""One chain: its blocks, its transactions, and the state after each block."""

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cosmpy.protos.cosmos.bank.v1beta1.tx_pb2 import MsgSend
from cosmpy.protos.cosmos.staking.v1beta1.tx_pb2 import MsgDelegate, MsgUndelegate
from cosmpy.protos.tendermint.crypto.keys_pb2 import PublicKey as ConsensusKey
from cosmpy.protos.tendermint.types.types_pb2 import BlockID, Header, PartSetHeader
from cosmpy.protos.tendermint.types.validator_pb2 import SimpleValidator
from google.protobuf.message import Message

from devnet import known_cosmos as known
from devnet.cosmos.hashing import data_hash, header_hash, merkle_root
from devnet.cosmos.state import Failure, State
from devnet.cosmos.transactions import Signer, coin, decode, fee_of, hash_of, sign
from devnet.cosmos.world import CosmosChain, address, key, operator

Json = dict[str, Any]

GENESIS = datetime(2025, 1, 1, tzinfo=UTC)
PACE = timedelta(seconds=6)
VALIDATOR_STAKES = (3_000_000_000_000, 2_000_000_000_000, 1_000_000_000_000)
IDLE_STAKE = 1_000_000  # of the fourth validator, which is jailed
_SEND_GAS, _STAKE_GAS = 71_234, 152_345


@dataclass(frozen=True)
class Result:
    """How a transaction ended."""

    code: int
    gas_wanted: int
    gas_used: int
    log: str = ""
    codespace: str = ""
    events: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Block:
    """A block with its hash, transactions, their results and the state after it."""

    header: Header
    hash: bytes
    transactions: tuple[bytes, ...]
    results: tuple[Result, ...]
    state: State = field(repr=False)

    @property
    def height(self) -> int:
        """Its number."""
        return int(self.header.height)

    @property
    def time(self) -> datetime:
        """When it was made."""
        return self.header.time.ToDatetime(UTC)  # type: ignore[no-any-return]


class Ledger:
    """One modelled chain.

    A block is made by every broadcast, and with `mines` when the newest is older than the chain's pace.
    """

    def __init__(self, chain: CosmosChain, *, mines: bool = True) -> None:
        self.chain = chain
        self._mines = mines
        self.blocks: list[Block] = []
        self.places: dict[str, tuple[int, int]] = {}
        self.validators = [operator(chain, number) for number in range(1, len(VALIDATOR_STAKES) + 2)]
        self._seed()

    @property
    def head(self) -> Block:
        """The newest block."""
        return self.blocks[-1]

    def block(self, height: int) -> Block | None:
        """Return the block of that height."""
        index = height - self.chain.first
        return self.blocks[index] if 0 <= index < len(self.blocks) else None

    def by_hash(self, block_hash: bytes) -> Block | None:
        """Return the block of that hash."""
        return next((block for block in self.blocks if block.hash == block_hash), None)

    def move_on(self) -> None:
        """Make an empty block if the chain's pace asks for one."""
        now = datetime.now(UTC)
        if self._mines and now - self.head.time >= PACE:
            self.make_block([], now)

    def make_block(self, transactions: list[bytes], time: datetime | None = None) -> Block:
        """Add a block with these transactions."""
        last = self.blocks[-1] if self.blocks else None
        time = time or datetime.now(UTC)
        height = last.height + 1 if last else self.chain.first
        state = last.state.copy() if last and transactions else (last.state if last else self._genesis())
        results: list[Result] = []
        for data in transactions:
            result, state = self._execute(data, state, height, time)
            self.places[hash_of(data)] = height, len(results)
            results.append(result)
        header = Header(chain_id=self.chain.chain_id, height=height, data_hash=data_hash(transactions))
        header.version.block = 11
        header.time.FromDatetime(time)
        if last:
            header.last_block_id.CopyFrom(block_id(last.hash))
        header.last_commit_hash = merkle_root([])
        header.validators_hash = header.next_validators_hash = merkle_root([_member(number) for number in range(1, 4)])
        header.consensus_hash = hashlib.sha256(b"waypost devnet parameters").digest()
        header.app_hash = hashlib.sha256(b"waypost devnet state %d" % height).digest()
        header.last_results_hash = merkle_root([])
        header.evidence_hash = merkle_root([])
        header.proposer_address = consensus_address(height % 3 + 1)
        block = Block(header, header_hash(header), tuple(transactions), tuple(results), state)
        self.blocks.append(block)
        return block

    def check(self, data: bytes) -> Result:
        """Return what a node answers about a transaction before it is in a block."""
        result, _ = self._execute(data, self.head.state.copy(), self.head.height + 1, datetime.now(UTC))
        return result

    def _execute(self, data: bytes, state: State, height: int, time: datetime) -> tuple[Result, State]:
        tx = decode(data)
        if tx is None:
            return Result(known.UNDECODABLE, 0, 0, "tx parse error", "sdk"), state
        wanted = int(tx.tx.auth_info.fee.gas_limit)
        sender = str(_sender(tx.messages[0]))
        account = state.accounts.get(sender)
        if account is None:
            return Result(9, wanted, 0, f"account {sender} does not exist: unknown address", "sdk"), state
        if tx.sequence != account.sequence:
            words = f"account sequence mismatch, expected {account.sequence}, got {tx.sequence}"
            return Result(32, wanted, 0, f"{words}: incorrect account sequence", "sdk"), state
        if not tx.is_signed(self.chain.chain_id, account.number):
            return Result(4, wanted, 0, "signature verification failed: unauthorized", "sdk"), state
        try:
            for part in tx.tx.auth_info.fee.amount:
                state.burn(sender, part.denom, int(part.amount))
        except Failure as failure:
            return Result(failure.code, wanted, 0, failure.words, "sdk"), state
        account.sequence += 1
        account.public_key = tx.payer
        used = _SEND_GAS if isinstance(tx.messages[0], MsgSend) else _STAKE_GAS
        after = state.copy()
        try:
            for message in tx.messages:
                after.apply(message, self.chain.stake_denom, height, time)
        except Failure as failure:
            words = f"failed to execute message; message index: 0: {failure.words}"
            return Result(failure.code, wanted, used, words, "sdk"), state
        events = tuple(_event(message) for message in tx.messages)
        return Result(0, wanted, used, events=events), after

    def _genesis(self) -> State:
        chain, state = self.chain, State()
        for name in (known.ALICE, known.CAROL):
            state.create(address(chain, name))
        state.create(address(chain, known.VESTER), "vesting")
        state.create(address(chain, known.STAKING_MODULE), "module", known.STAKING_MODULE)
        for name in (known.ALICE, known.VESTER):
            state.mint(address(chain, name), chain.denom, known.ENDOWMENT)
        alice = address(chain, known.ALICE)
        state.mint(alice, known.IBC_DENOM, known.IBC_HELD)
        state.mint(alice, f"factory/{alice}/{known.FACTORY_SUBDENOM}", known.FACTORY_HELD)
        for name, stake in zip(self.validators, (*VALIDATOR_STAKES, IDLE_STAKE), strict=True):
            state.tokens[name] = stake
        bonded = sum(VALIDATOR_STAKES) + IDLE_STAKE
        state.mint(address(chain, known.STAKING_MODULE), chain.stake_denom, bonded)
        return state

    def _seed(self) -> None:
        chain = self.chain
        alice, bob = address(chain, known.ALICE), address(chain, known.BOB)
        signer = Signer(key(known.ALICE), chain.chain_id, 0)
        sequence = 0

        def signed(message: Message) -> bytes:
            nonlocal sequence
            data = sign(signer, sequence, [message], fee_of(chain.denom))
            sequence += 1
            return data

        self.make_block([], GENESIS)
        steps: dict[int, list[Any]] = {
            known.SENT_AT: [MsgSend(from_address=alice, to_address=bob, amount=[coin(chain.denom, known.SENT)])],
            known.FAILED_AT: [MsgSend(from_address=alice, to_address=bob, amount=[coin(chain.denom, 10**15)])],
        }
        if chain.stake_denom == chain.denom:
            first, second = self.validators[:2]
            steps[known.STAKED_AT] = [
                _delegate(MsgDelegate, alice, first, coin(chain.denom, known.DELEGATED)),
                known.GARBAGE,
                _delegate(MsgDelegate, alice, second, coin(chain.denom, known.DELEGATED_TO_SECOND)),
            ]
            steps[known.UNSTAKED_AT] = [_delegate(MsgUndelegate, alice, first, coin(chain.denom, known.UNDELEGATED))]
        for number in range(1, known.SEEDED_BLOCKS + 1):
            wanted = steps.get(number, [])
            data = [item if isinstance(item, bytes) else signed(item) for item in wanted]
            self.make_block(data, GENESIS + number * PACE)


def block_id(block_hash: bytes) -> BlockID:
    """Return the id of a block; its parts are one, with a hash of ours."""
    parts = PartSetHeader(total=1, hash=hashlib.sha256(block_hash).digest())
    return BlockID(hash=block_hash, part_set_header=parts)


def consensus_key(number: int) -> bytes:
    """Return the ed25519 public key of a validator: 32 bytes that no key signs for."""
    return hashlib.sha256(b"waypost devnet consensus key %d" % number).digest()


def consensus_address(number: int) -> bytes:
    """Return the address that a validator's consensus key makes."""
    return hashlib.sha256(consensus_key(number)).digest()[:20]


def _member(number: int) -> bytes:
    power = VALIDATOR_STAKES[number - 1] // 10**6
    member = SimpleValidator(pub_key=ConsensusKey(ed25519=consensus_key(number)), voting_power=power)
    return bytes(member.SerializeToString())


def _sender(message: Any) -> str:
    return str(message.from_address if isinstance(message, MsgSend) else message.delegator_address)


def _delegate(kind: Any, delegator: str, validator: str, amount: Any) -> Message:
    message: Message = kind(delegator_address=delegator, validator_address=validator, amount=amount)
    return message


def _event(message: Any) -> Json:
    if isinstance(message, MsgSend):
        amount = ",".join(part.amount + part.denom for part in message.amount)
        pairs = {"recipient": message.to_address, "sender": message.from_address, "amount": amount}
        return {"type": "transfer", "attributes": _attributes(pairs)}
    kind = "delegate" if isinstance(message, MsgDelegate) else "unbond"
    pairs = {"validator": message.validator_address, "delegator": message.delegator_address}
    return {"type": kind, "attributes": _attributes(pairs | {"amount": message.amount.amount + message.amount.denom})}


def _attributes(pairs: dict[str, str]) -> list[Json]:
    return [{"key": key_, "value": value, "index": True} for key_, value in pairs.items()]


def encoded(data: bytes) -> str:
    """Return bytes as the REST gateway prints them."""
    return base64.b64encode(data).decode()
