"""The functions, events and errors of one contract, typed: calldata from Python values, Python values from outcomes.

Values are integers, checksummed addresses, bytes, truth values, text, a list for an array, a tuple for a tuple. What
contracts return is not trusted: data is read strictly and within a bound (see `server.contracts.words`).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from server.contracts.calls import ContractCall
from server.contracts.events import NAME, CustomError, Event
from server.contracts.keccak import keccak
from server.contracts.reverts import is_revert_payload
from server.contracts.signatures import parse_items
from server.contracts.types import Parameter, Tuple, parse_parameters, read_row, row_writer, signature
from server.contracts.words import MAX_VALUES, WORD, Reader, Undecodable, WordType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from server.contracts.calls import ContractOutcome
    from server.contracts.types import Type


_MUTABILITIES = ("pure", "view", "nonpayable", "payable")


class Unreadable(ValueError):
    """A call returned nothing that its function returns: it failed, or the data is empty, cut or too much."""


class Function:
    """One function of a contract.

    `inputs` and `outputs` are its parameters, `mutability` as ABI JSON has it; `signature` is its name with the types
    of its inputs, `selector` the first four bytes of calldata.
    """

    __slots__ = (
        "_decoders",
        "_inputs",
        "_outputs",
        "_read_word",
        "_size",
        "_write",
        "inputs",
        "mutability",
        "name",
        "outputs",
        "selector",
        "signature",
    )

    def __init__(self, item: Mapping[str, Any]) -> None:
        """Take an item of ABI JSON; ValueError where it is no function."""
        name, mutability = item.get("name"), item.get("stateMutability")
        if item.get("type") != "function" or not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError("not a function with a name")
        if mutability not in _MUTABILITIES:
            raise ValueError(f"stateMutability of {name} must be one of {', '.join(_MUTABILITIES)}")
        self.name = name
        self.mutability = str(mutability)
        self.inputs: tuple[Parameter, ...] = parse_parameters(item.get("inputs", []))
        self.outputs: tuple[Parameter, ...] = parse_parameters(item.get("outputs", []))
        self.signature = signature(name, self.inputs)
        self.selector = keccak(self.signature.encode())[:4]
        self._inputs: tuple[Type, ...] = tuple(one.type for one in self.inputs)
        self._outputs: tuple[Type, ...] = tuple(one.type for one in self.outputs)
        self._write = row_writer(self._inputs)
        # The offsets of outputs of fixed size do not depend on the data.
        self._size = sum(kind.head_size for kind in self._outputs)
        self._decoders: tuple[Callable[[bytes], Any], ...] | None = None
        if not any(kind.is_dynamic for kind in self._outputs) and self._size <= WORD * MAX_VALUES:
            self._decoders = tuple(_decoders(self._outputs, 0))
        # By far most functions that are read return one word.
        only = self._outputs[0] if len(self._outputs) == 1 else None
        self._read_word: Callable[[bytes], Any] | None = _word_reader(only) if isinstance(only, WordType) else None

    def call(
        self,
        to: str,
        *arguments: object,
        gas: int = 50_000,
        sender: str | None = None,
        is_optional: bool = False,
    ) -> ContractCall:
        """Return the call of the function at a contract; ValueError for arguments that do not fit. See `ContractCall`.

        Addresses are 0x and 40 hex digits, bytes are bytes, structs sequences of their members.
        """
        return ContractCall(to, self.encode(*arguments), gas, sender, is_optional)

    def encode(self, *arguments: object) -> bytes:
        """Return the calldata; ValueError for arguments that do not fit."""
        if len(arguments) != len(self._inputs):
            raise ValueError(f"{self.signature} is called with {len(arguments)} arguments")
        try:
            return self.selector + self._write(arguments)
        except ValueError as error:
            raise ValueError(f"{self.signature}: {error}") from None

    def read(self, outcome: ContractOutcome) -> tuple[Any, ...]:
        """Return the outputs in their order; bytes after them are not looked at.

        Raises:
            Unreadable: the call failed, or the data is empty, cut, too much, or holds a value that its type does not.
        """
        succeeded, data = outcome
        if not succeeded or (len(data) % WORD and is_revert_payload(data)):
            raise Unreadable(f"{self.signature} reverted")
        if self._decoders is not None and len(data) < self._size:
            raise Unreadable(f"{self.signature} returned {len(data)} bytes")
        try:
            return self.decode(data)
        except Undecodable as error:
            raise Unreadable(f"{self.signature}: {error}") from None

    def decode(self, data: bytes) -> tuple[Any, ...]:
        """Return the outputs that data encodes; Undecodable (TooManyValues) where it encodes none."""
        if self._decoders is None:
            return tuple(read_row(Reader(data), 0, self._outputs))
        if len(data) < self._size:
            raise Undecodable("the data ends before the value")
        return tuple([read(data) for read in self._decoders])

    def read_one(self, outcome: ContractOutcome) -> Any:
        """Return the only output; raises as `read`."""
        if self._read_word is not None and len(outcome.data) == WORD and outcome.succeeded:
            try:
                return self._read_word(outcome.data)
            except Undecodable as error:
                raise Unreadable(f"{self.signature}: {error}") from None
        (value,) = self.read(outcome)
        return value

    def __repr__(self) -> str:
        return f"Function({self.signature})"


class Interface:
    """The parts of a contract that are called and read: functions by name, `errors` by selector, `events` by name."""

    def __init__(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Take items of ABI JSON; ValueError for one that is none or stands there twice."""
        self._functions: dict[str, Function] = {}
        self._named: dict[str, list[Function]] = {}
        self.errors: dict[bytes, CustomError] = {}
        self.events: dict[str, Event] = {}
        for item in items:
            if item["type"] == "error":
                error = CustomError.parse(item)
                is_new = self.errors.setdefault(error.selector, error) is error
            elif item["type"] == "event":
                event = Event.parse(item)
                is_new = self.events.setdefault(event.name, event) is event
            else:
                function = Function(item)
                is_new = self._functions.setdefault(function.signature, function) is function
                self._named.setdefault(function.name, []).append(function)
            if not is_new:
                raise ValueError(f"{item['name']} stands there twice")

    @classmethod
    def parse(cls, text: str) -> Interface:
        """Return the interface that a text writes, one Solidity signature a line; see `server.contracts.signatures`.

        Raises:
            ValueError: a line is no signature, or what it declares stands there twice.
        """
        return cls(parse_items(text))

    @classmethod
    def load(cls, package: str, name: str) -> Interface:
        """Return the interface of the resource `abi/<name>.abi` of a package; raises as `parse`."""
        return _load(package, name)

    def __getitem__(self, name: str) -> Function:
        """Return the function of a name, or of a signature where several have the name; KeyError for none."""
        function = self._functions.get(name)
        if function is not None:
            return function
        overloads = self._named[name]
        if len(overloads) > 1:
            raise KeyError(f"{name} is one of {', '.join(one.signature for one in overloads)}")
        return overloads[0]


@cache
def _load(package: str, name: str) -> Interface:
    text = files(package).joinpath("abi", f"{name}.abi").read_text(encoding="utf-8")
    try:
        return Interface.parse(text)
    except ValueError as error:
        raise ValueError(f"{package}/abi/{name}.abi: {error}") from None


def _decoders(kinds: Iterable[Type], at: int) -> Iterator[Callable[[bytes], Any]]:
    """Yield what reads each of the neighbours of fixed size that begin at an offset."""
    for kind in kinds:
        yield _decoder(kind, at)
        at += kind.head_size


def _decoder(kind: Type, at: int) -> Callable[[bytes], Any]:
    if isinstance(kind, WordType):
        read, end = _word_reader(kind), at + WORD
        return lambda data: read(data[at:end])
    if isinstance(kind, Tuple):
        members = tuple(_decoders(kind.members, at))
        return lambda data: tuple([member(data) for member in members])
    return lambda data: kind.read(Reader(data), at)


def _word_reader(kind: WordType) -> Callable[[bytes], Any]:
    """Return what reads a word of the type; every word is a `uint256`, which is what amounts are."""
    return _read_number if kind.canonical == "uint256" else kind.from_word


def _read_number(word: bytes) -> int:
    return int.from_bytes(word, "big")
