"""Contracts that answer as a test has them answer, for readers of protocols: no node; every request is counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak

from devnet.evm.calls import argument_types
from server.chains.view import ReadView
from server.contracts.calls import ContractOutcome
from server.protocols.plan import Outcomes
from server.protocols.runner import Runner
from server.protocols.tables import TableStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.contracts.calls import CallGroup, ContractCall

REVERTS = ContractOutcome(False, b"")
NO_CODE = ContractOutcome(True, b"")


@dataclass
class World:
    """Contracts by address and function; what is not there has no code, or reverts where other functions are there."""

    block: int = 100
    functions: dict[tuple[str, bytes], Callable[[bytes], ContractOutcome]] = field(default_factory=dict)
    requests: list[list[CallGroup]] = field(default_factory=list)
    spoil: Callable[[ContractCall, ContractOutcome], ContractOutcome] = lambda call, outcome: outcome

    def put(self, address: str, signature: str, types: str, *values: Any) -> None:
        """Have a function return values, whatever its arguments."""
        self.put_raw(address, signature, lambda _: ContractOutcome(True, encode(argument_types(f"f({types})"), values)))

    def put_for(self, address: str, signature: str, types: str, table: dict[Any, Any]) -> None:
        """Have a function of one argument return a value by that argument, and revert for others."""
        inputs = argument_types(signature)

        def answer(data: bytes) -> ContractOutcome:
            arguments = decode(inputs, data)
            key = arguments[0] if len(arguments) == 1 else arguments
            if key not in table:
                return REVERTS
            values = table[key]
            return ContractOutcome(True, encode(argument_types(f"f({types})"), values))

        self.put_raw(address, signature, answer)

    def put_raw(self, address: str, signature: str, answer: Callable[[bytes], ContractOutcome]) -> None:
        """Have a function answer by its arguments as they are encoded."""
        self.functions[address.lower(), keccak(text=signature)[:4]] = answer

    def token(self, address: str, symbol: str, decimals: int) -> None:
        """Put a token."""
        self.put(address, "symbol()", "string", symbol)
        self.put(address, "decimals()", "uint8", decimals)

    def remove(self, address: str, signature: str) -> None:
        """Have a function revert."""
        self.put_raw(address, signature, lambda _: REVERTS)

    def answer(self, call: ContractCall) -> ContractOutcome:
        """Return what a call returns."""
        known = self.functions.get((call.to.lower(), call.data[:4]))
        if known is None:
            is_there = any(address == call.to.lower() for address, _ in self.functions)
            return self.spoil(call, REVERTS if is_there else NO_CODE)
        return self.spoil(call, known(call.data[4:]))

    async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
        """Answer as a chain's driver does."""
        self.requests.append(list(groups))
        view.settle(self.block, "node")
        return [[self.answer(call) for call in group.calls] for group in groups]


class NoPrices:
    """Positions are read without prices of the gateway's own."""

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Any, Any]:
        raise AssertionError(f"prices of {tokens} were asked for")


class Readers:
    """Asks readers over one world, with the tables that they have read before."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._runner = Runner(lambda _slug, _wanted: world, TableStore(), NoPrices())

    async def ask(self, reader: Any, question: Any) -> Any:
        """Return the answer."""
        return (await self._runner.answer(reader, question, ReadView())).answer

    async def count(self, reader: Any, question: Any) -> tuple[Any, int]:
        """Return the answer and the requests that it took."""
        del self.world.requests[:]
        return await self.ask(reader, question), len(self.world.requests)


def outcomes_of(world: World, plan: Any, chain: str = "ethereum") -> Outcomes:
    """Return what a plan's groups return in a world."""
    outcomes = Outcomes()
    for name, group in plan.groups.items():
        outcomes.add(name, group.chain or chain, world.block, group, [world.answer(call) for call in group.calls])
    return outcomes


def address(number: int) -> str:
    """Return an address, in lower case."""
    return f"0x{number:040x}"
