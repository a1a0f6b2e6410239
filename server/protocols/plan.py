"""What a reader requests and what came back: calls in groups, their outcomes, further calls, one reader's state."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import structlog

from server.contracts.calls import ContractCall
from server.errors import GatewayError, PriceUnavailable, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.apis.documents import Document, DocumentRequest
    from server.contracts.calls import ContractOutcome
    from server.contracts.interface import Function
    from server.protocols.reader import ChainQuestion, Reader, TokenPrices


class Token(NamedTuple):
    """A token by chain slug and checksummed address."""

    chain: str
    address: str


@dataclass(frozen=True, slots=True)
class Group:
    """Calls that belong together, all of one block of one chain; `chain` None is that of the question.

    A group is kept as a whole at its block: calls that depend on the wallet stand apart from those that do not, which
    then serve every wallet. `is_known`: every address comes from the gateway's own data or the protocol's own
    contracts, and nothing in it changes state: such groups share executions with other requests. Otherwise the
    group has executions of its own.

    With `seconds_back` the calls are of an older block, so many seconds of blocks before the others' and read in the
    same request (`Outcomes.find`).

    `any_block`: what the group reads does not depend on the block of the rest (reports of the past, a contract with all
    that is read of it): it is read at the newest one. So a reader may read twice on chains whose nodes answer for the
    latest block whatever block is requested.
    """

    calls: tuple[ContractCall, ...]
    is_known: bool = True
    chain: str | None = None
    seconds_back: float = 0.0
    any_block: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Groups by names of the reader's own, and the tokens whose current prices in US dollars the answer needs.

    `documents` are those of off-chain APIs, which come side by side with the rest. A plan without groups reads no node.
    """

    groups: Mapping[str, Group] = field(default_factory=dict)
    prices: tuple[Token, ...] = ()
    documents: tuple[DocumentRequest, ...] = ()


class WalletPlan:
    """A plan that was made for one wallet, and serves every other: their addresses stand in the same calldata.

    Raises:
        ValueError: the wallet stands elsewhere than in calldata.
    """

    def __init__(self, plan: Plan, address: str) -> None:
        own = bytes.fromhex(address[2:])
        self._prices = plan.prices
        self._documents = plan.documents
        # The calls of a group with the parts of their calldata around the wallet; None where it stands in none of them.
        self._groups: dict[str, tuple[Group, list[tuple[ContractCall, list[bytes]]] | None]] = {}
        for name, group in plan.groups.items():
            if any(address in (call.to, call.sender) for call in group.calls):
                raise ValueError("a call of the plan is made to the wallet, or by it")
            depends = any(own in call.data for call in group.calls)
            self._groups[name] = group, [(call, call.data.split(own)) for call in group.calls] if depends else None

    def of_wallet(self, address: str) -> Plan:
        """Return the plan for a wallet, given by 0x and 40 hex digits; groups without it are the same objects."""
        own = bytes.fromhex(address[2:])
        groups: dict[str, Group] = {}
        for name, (group, calls) in self._groups.items():
            if calls is not None:
                made = [
                    ContractCall(call.to, own.join(parts), call.gas, call.sender, call.is_optional)
                    for call, parts in calls
                ]
                group = replace(group, calls=tuple(made))
            groups[name] = group
        return Plan(groups, self._prices, self._documents)


class More(NamedTuple):
    """In place of an answer: what has to be read besides, at the same block. The names of its groups are new ones."""

    plan: Plan


class Renewed(NamedTuple):
    """An answer with the tables that the same read proved to be the chain's now, which replace those of the plan."""

    answer: Any
    tables: Any


class StaleTables(Exception):
    """What was read shows that the tables of the plan are no longer those of the chain."""


class ContractUnreadable(UpstreamUnavailable):
    """A contract of a protocol did not answer as it does: no code is there, the call failed, or it is another one."""


class Answered(NamedTuple):
    """A call with its outcome."""

    call: ContractCall
    outcome: ContractOutcome
    chain: str

    @property
    def has_failed(self) -> bool:
        """Whether the call reverted."""
        return not self.outcome.succeeded

    @property
    def has_no_code(self) -> bool:
        """Whether nothing answered at the address: a call of an address without code succeeds and returns nothing."""
        return self.outcome.succeeded and not self.outcome.data

    def read(self, function: Function) -> tuple[Any, ...]:
        """Return the outputs of the function that was called; ContractUnreadable, naming the contract, without them."""
        try:
            return function.read(self.outcome)
        except ValueError as error:
            raise self._unreadable(function, error) from None

    def read_one(self, function: Function) -> Any:
        """Return the only output of the function; raises as `read`."""
        try:
            return function.read_one(self.outcome)
        except ValueError as error:
            raise self._unreadable(function, error) from None

    def read_if_answered(self, function: Function) -> tuple[Any, ...] | None:
        """Return the outputs, None where the call reverted or nothing fit to read came back."""
        try:
            return function.read(self.outcome)
        except ValueError:
            return None

    def _unreadable(self, function: Function, error: ValueError) -> ContractUnreadable:
        why = "no contract is there" if self.has_no_code else str(error)
        return ContractUnreadable(
            f"{function.name} of the contract {self.call.to} on {self.chain} did not answer as expected: {why}",
            retry_after_ms=1000,
        )


class Outcomes:
    """What the groups of a plan returned, by their names, with the blocks that they were read at, and documents.

    `chains` are those of which anything was read.
    """

    def __init__(self) -> None:
        self._groups: dict[str, tuple[Answered, ...]] = {}
        self._blocks: dict[str, int] = {}
        self._absent: set[str] = set()
        self._documents: dict[DocumentRequest, Document | GatewayError] = {}
        self.chains: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._groups or name in self._absent

    def __getitem__(self, name: str) -> tuple[Answered, ...]:
        """Return the calls of a group with their outcomes, in the order of the plan; KeyError for one not read."""
        return self._groups[name]

    def find(self, name: str) -> tuple[Answered, ...] | None:
        """Return the calls of a group with their outcomes, None where no node has the state of its older block."""
        return None if name in self._absent else self._groups[name]

    def block_of(self, name: str) -> int:
        """Return the number of the block that a group was read at."""
        return self._blocks[name]

    def add_absent(self, name: str) -> None:
        """Record that no node has the state that a group needs; ValueError for a name that is taken."""
        if name in self:
            raise ValueError(f"the group {name} was read already")
        self._absent.add(name)

    def document(self, request: DocumentRequest) -> Document:
        """Return a document of the plan; raises the GatewayError that its source met."""
        found = self._documents[request]
        if isinstance(found, GatewayError):
            # One failure may be met by several readers: each raises a copy of its own.
            raise copy.copy(found)
        return found

    def find_document(self, request: DocumentRequest) -> Document | None:
        """Return a document of the plan, None where its source failed."""
        found = self._documents[request]
        return None if isinstance(found, GatewayError) else found

    def has_document(self, request: DocumentRequest) -> bool:
        """Return whether a document was requested, also in vain."""
        return request in self._documents

    def add_document(self, request: DocumentRequest, found: Document | GatewayError) -> None:
        """Record a document or its failure."""
        self._documents[request] = found

    def add(self, name: str, chain: str, block: int, group: Group, outcomes: list[ContractOutcome]) -> None:
        """Record what a group returned; ValueError for a name that is taken."""
        if name in self:
            raise ValueError(f"the group {name} was read already")
        self._groups[name] = tuple(
            [Answered(call, outcome, chain) for call, outcome in zip(group.calls, outcomes, strict=True)]
        )
        self._blocks[name] = block
        self.chains.add(chain)


NONSENSE = (ArithmeticError, ValueError, LookupError)
"""Readers compute with what contracts return; what cannot be computed with is not an answer."""

# What readers make of contracts' answers; other failures are of nodes.
_OF_CONTRACTS = (ContractUnreadable, PriceUnavailable)

_log = structlog.get_logger("waypost.protocols")


class Branch:
    """One reader's question in progress."""

    def __init__(
        self,
        reader: Reader[Any, Any],
        question: ChainQuestion,
        plan: Callable[[Reader[Any, Any], ChainQuestion, Any], Plan],
    ) -> None:
        self.reader = reader
        self.question = question
        self._plan = plan
        self.tables: Any = None
        self.prices: TokenPrices = {}
        self.is_renewed = False
        self.renewed: Any = None
        self.result: Any | GatewayError | None = None
        self.outcomes = Outcomes()
        self.plan: Plan

    @property
    def was_answered(self) -> bool:
        """Whether the question has an answer, or what failed it is what contracts of its chain returned."""
        if not isinstance(self.result, GatewayError) or isinstance(self.result, _OF_CONTRACTS):
            return True
        return self.question.chain in self.outcomes.chains

    def begin(self, tables: Any) -> None:
        """Plan with these tables."""
        self.tables = tables
        self.outcomes = Outcomes()
        self._attempt(lambda: setattr(self, "plan", self._plan(self.reader, self.question, tables)))

    def advance(self) -> bool:
        """Build the answer of what was read, or see what is to be read besides; return whether the tables are old."""
        if self.result is not None:
            return False
        try:
            self._attempt(self._build)
        except StaleTables:
            return True
        return False

    def close(self) -> Any | GatewayError:
        """Return the answer or the failure."""
        if self.result is None:
            return UpstreamUnavailable(
                f"the protocol on {self.question.chain} takes more steps to read than there may be; try again",
                retry_after_ms=1000,
            )
        return self.result

    def _build(self) -> None:
        built = self.reader.build(self.question, self.outcomes, self.tables, self.prices)
        if isinstance(built, More):
            self.plan = built.plan
        elif isinstance(built, Renewed):
            self.result, self.renewed = built
        else:
            self.result = built

    def _attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
        except GatewayError as error:
            self.result = error
        except NONSENSE as error:
            self.result = unreadable(self.question.chain, error)


def unreadable(chain: str, error: Exception) -> ContractUnreadable:
    """Return the failure of a reader that could not compute with what contracts returned."""
    _log.warning("a protocol's contracts returned what cannot be", chain=chain, why=repr(error))
    return ContractUnreadable(
        f"the contracts of the protocol on {chain} returned figures that cannot be; try again", retry_after_ms=1000
    )
