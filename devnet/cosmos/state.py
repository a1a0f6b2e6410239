"""The state of one chain at one block, and what messages do to it."""

import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cosmpy.protos.cosmos.bank.v1beta1.tx_pb2 import MsgSend
from cosmpy.protos.cosmos.staking.v1beta1.tx_pb2 import MsgDelegate, MsgUndelegate
from google.protobuf.message import Message

from devnet import known_cosmos as known

UNBONDING = timedelta(days=21)
_REWARD_DIVISOR = 10**6
_DIGITS = 18


class Failure(Exception):
    """A transaction that is in a block and did not work: code and words of the SDK."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code, self.words = code, words


@dataclass
class Account:
    """What the auth module knows of an address."""

    number: int
    sequence: int = 0
    public_key: bytes | None = None
    kind: str = "base"
    name: str = ""


@dataclass
class Unbonding:
    """Stake on its way back."""

    height: int
    completion: datetime
    amount: int
    number: int


@dataclass
class State:
    """Everything that queries may ask about.

    Stakes are (amount, height of the last change) by (delegator, validator).
    """

    accounts: dict[str, Account] = field(default_factory=dict)
    balances: dict[str, dict[str, int]] = field(default_factory=dict)
    stakes: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    unbondings: dict[tuple[str, str], list[Unbonding]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    supply: dict[str, int] = field(default_factory=dict)

    def copy(self) -> "State":
        """Return a state that can change without this one."""
        return copy.deepcopy(self)

    def create(self, address: str, kind: str = "base", name: str = "") -> Account:
        """Return the account of the address, made where there is none."""
        if address not in self.accounts:
            self.accounts[address] = Account(len(self.accounts), kind=kind, name=name)
        return self.accounts[address]

    def mint(self, address: str, denom: str, amount: int) -> None:
        """Make an amount out of nothing."""
        self._add(address, denom, amount)
        self.supply[denom] = self.supply.get(denom, 0) + amount

    def burn(self, address: str, denom: str, amount: int) -> None:
        """Take an amount away for good. Raises Failure."""
        self._take(address, denom, amount)
        self.supply[denom] -= amount

    def apply(self, message: Message, stake_denom: str, height: int, time: datetime) -> None:
        """Do what a message asks for. Raises Failure, with the state half changed."""
        if isinstance(message, MsgSend):
            for part in message.amount:
                self._take(message.from_address, part.denom, int(part.amount))
                self.create(message.to_address)
                self._add(message.to_address, part.denom, int(part.amount))
        elif isinstance(message, MsgDelegate):
            self._validator(message.validator_address)
            amount = int(message.amount.amount)
            self._take(message.delegator_address, stake_denom, amount)
            self._stake(message.delegator_address, message.validator_address, amount, height)
        elif isinstance(message, MsgUndelegate):
            self._validator(message.validator_address)
            amount = int(message.amount.amount)
            self._stake(message.delegator_address, message.validator_address, -amount, height)
            entries = self.unbondings.setdefault((message.delegator_address, message.validator_address), [])
            number = sum(map(len, self.unbondings.values())) + 1
            entries.append(Unbonding(height, time + UNBONDING, amount, number))

    def reward_of(self, delegator: str, validator: str, height: int) -> int:
        """Return a reward in 10^-18 of a base unit: a millionth of the stake per block since it last changed."""
        amount, since = self.stakes[delegator, validator]
        return int(amount * (height - since) * 10**_DIGITS // _REWARD_DIVISOR)

    def not_bonded(self) -> int:
        """Return the stake that is on its way back."""
        return sum(entry.amount for entries in self.unbondings.values() for entry in entries)

    def _validator(self, operator: str) -> None:
        if operator not in self.tokens:
            raise Failure(3, "validator does not exist")

    def _stake(self, delegator: str, validator: str, amount: int, height: int) -> None:
        held, _ = self.stakes.get((delegator, validator), (0, 0))
        if held + amount < 0:
            raise Failure(22, "invalid shares amount: invalid request")
        self.stakes[delegator, validator] = held + amount, height
        self.tokens[validator] += amount
        if held + amount == 0:
            del self.stakes[delegator, validator]

    def _add(self, address: str, denom: str, amount: int) -> None:
        held = self.balances.setdefault(address, {})
        held[denom] = held.get(denom, 0) + amount

    def _take(self, address: str, denom: str, amount: int) -> None:
        held = self.balances.get(address, {}).get(denom, 0)
        if held < amount:
            words = f"spendable balance {held}{denom} is smaller than {amount}{denom}: insufficient funds"
            raise Failure(known.INSUFFICIENT_FUNDS, words)
        self.balances[address][denom] = held - amount
        if held == amount:
            del self.balances[address][denom]


def decimal_of(scaled: int) -> str:
    """Return 10^-18 units as the SDK prints decimals."""
    whole, fraction = divmod(scaled, 10**_DIGITS)
    return f"{whole}.{fraction:018d}"
