"""Well-known events, decoded by the declarations of events.toml.

Hand-written for static types: a receipt can hold thousands of logs, and a general ABI codec takes milliseconds for
each hundred. A log that does not fit its declaration exactly is not decoded at all.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from waypost.v1 import receipt_pb2

from server.chains.evm.documents import (
    address,
    convert_members,
    decimal,
    is_null,
    load_forms,
    number,
    read_members,
    text,
)
from server.chains.evm.logs.entries import parse_logs
from server.contracts.address import checksum_address
from server.contracts.keccak import keccak

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import msgspec
    from waypost.v1 import evm_pb2

    from server.chains.evm.documents import MemberTable


_TABLE = Path(__file__).with_name("events.toml")
_DECLARATION = re.compile(r"(\w+)\((.*)\)")
_ARGUMENT = re.compile(r"(address|u?int\d+|bytes32)( indexed)? (\w+)")
_WORD = 32


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an event: its name, Solidity type, and whether it is a topic."""

    name: str
    type: str
    is_indexed: bool

    def read(self, word: bytes) -> str:
        """Return the value of a 32-byte word: an address with checksum, an integer as decimal text, bytes32 as hex.

        Raises:
            ValueError: the word is no value of the type.
        """
        if self.type == "address":
            if any(word[:12]):
                raise ValueError("more than an address")
            return checksum_address("0x" + word[12:].hex())
        if self.type == "bytes32":
            return "0x" + word.hex()
        is_signed = self.type.startswith("int")
        bits = int(self.type.lstrip("uint"))
        value = int.from_bytes(word, "big", signed=is_signed)
        if value.bit_length() > bits - is_signed and value != -(1 << (bits - 1)):
            raise ValueError("beyond the type")
        return str(value)


@dataclass(frozen=True, slots=True)
class Event:
    """One declaration."""

    name: str
    arguments: tuple[Argument, ...]

    @classmethod
    def parse(cls, declaration: str) -> Event:
        """Return the event that a Solidity declaration describes."""
        name, inside = _DECLARATION.fullmatch(declaration).groups()  # type: ignore[union-attr]
        matches = [_ARGUMENT.fullmatch(part.strip()) for part in inside.split(",")]
        return cls(name, tuple(Argument(match[3], match[1], match[2] is not None) for match in matches if match))

    @property
    def topic0(self) -> str:
        """The Keccak-256 hash of the signature, the first topic of its logs (Solidity ABI, "Events")."""
        types = ",".join(argument.type for argument in self.arguments)
        return "0x" + keccak(f"{self.name}({types})".encode()).hex()

    @property
    def topics(self) -> int:
        """How many topics its logs have, the signature's included."""
        return 1 + sum(argument.is_indexed for argument in self.arguments)

    def read(self, topics: Sequence[bytes], data: bytes) -> dict[str, str]:
        """Return the arguments by name in their order, out of the topics after the first and the data.

        Raises:
            ValueError: the log does not fit.
        """
        if len(data) != _WORD * (len(self.arguments) - len(topics)):
            raise ValueError("data of another length")
        indexed = iter(topics)
        plain = (data[start : start + _WORD] for start in range(0, len(data), _WORD))
        return {
            argument.name: argument.read(next(indexed if argument.is_indexed else plain)) for argument in self.arguments
        }


@cache
def load_events() -> Mapping[tuple[str, int], Event]:
    """Return the declarations by first topic and number of topics."""
    declarations = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["events"]
    return {(event.topic0, event.topics): event for event in map(Event.parse, declarations)}


def decode_logs(logs: Sequence[evm_pb2.EvmLog]) -> list[receipt_pb2.DecodedLog]:
    """Return those of the logs that are well-known events, in their order."""
    events = load_events()
    decoded = []
    for log in logs:
        event = events.get((log.topics[0], len(log.topics))) if log.topics else None
        if event is None:
            continue
        try:
            topics = [bytes.fromhex(topic[2:]) for topic in log.topics[1:]]
            args = event.read(topics, bytes.fromhex(log.data[2:]))
        except ValueError:
            continue
        decoded.append(
            receipt_pb2.DecodedLog(
                event=event.name, address=log.address, log_index=log.log_index, args=args, arg_names=args
            )
        )
    return decoded


_STATUS = {1: receipt_pb2.RECEIPT_STATUS_SUCCESS, 0: receipt_pb2.RECEIPT_STATUS_FAILURE}


def _status(raw: msgspec.Raw) -> receipt_pb2.ReceiptStatus:
    status = _STATUS.get(number(raw))
    if status is None:
        raise ValueError("a status that is neither 0x1 nor 0x0")
    return status


# Before Byzantium receipts had a `root` instead of a status (EIP-658); it stays among the untyped members.
_RECEIPT: MemberTable = {
    "transactionHash": ("transaction_hash", text),
    "blockNumber": ("block_number", number),
    "blockHash": ("block_hash", text),
    "transactionIndex": ("transaction_index", number),
    "from": ("from_address", address),
    "to": ("to", address),
    "status": ("status", _status),
    "gasUsed": ("gas_used", decimal),
    "cumulativeGasUsed": ("cumulative_gas_used", decimal),
    "effectiveGasPrice": ("effective_gas_price", decimal),
    "type": ("type", number),
    "contractAddress": ("contract_address", address),
    "logs": ("logs", parse_logs),
}


def is_mined(result: bytes) -> bool:
    """Return whether a receipt names its block: some nodes return receipts of pending transactions without one.

    Raises:
        ValueError: the JSON is no receipt.
    """
    members = read_members(result)
    if "transactionHash" not in members:
        raise ValueError("a receipt of no transaction")
    return not is_null(members.get("blockNumber"))


def parse_receipt(result: bytes) -> receipt_pb2.EvmReceipt:
    """Return the receipt with its well-known events decoded; `effective_gas_price` is empty where the node left it out.

    Raises:
        ValueError: the JSON is no receipt of a mined transaction.
    """
    fields, extra = convert_members(read_members(result), _RECEIPT, load_forms("receipt"))
    if not {"transaction_hash", "block_number", "from_address", "gas_used"} <= fields.keys():
        raise ValueError("a receipt lacks members")
    receipt = receipt_pb2.EvmReceipt(**fields)
    receipt.decoded_logs.extend(decode_logs(receipt.logs))
    if extra:
        receipt.extra.json = extra.decode()
    return receipt
