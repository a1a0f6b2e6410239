"""What a protocol's folder provides, and the book of all readers by rpc and in the summary's order."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from waypost.options.v1 import options_pb2
from waypost.v1 import position_pb2, position_summary_pb2

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from server.prices import Price
    from server.protocols.plan import More, Outcomes, Plan, Renewed
    from server.protocols.yields import YieldEntry

    TokenPrices = Mapping[tuple[str, str], Price]
    from collections.abc import Iterable, Mapping, Sequence

    from server.chains.view import ReadView
    from server.errors import GatewayError
    from server.protocols.runner import Reading, Runner
    from server.protocols.yields import PoolQuestion


@dataclass(frozen=True, slots=True)
class ChainQuestion:
    """What a protocol has on a chain. `block` is the block that the caller chose, None for the latest."""

    chain: str
    block: int | None = None


@dataclass(frozen=True, slots=True)
class WalletQuestion(ChainQuestion):
    """What a wallet has in a protocol; `address` is checksummed."""

    address: str = ""


@dataclass(frozen=True, slots=True)
class SwapQuestion(ChainQuestion):
    """What a swap would yield. Addresses are checksummed, as the caller asked; `amount` is decimal text in whole units.

    `fee` is in hundredths of a basis point and None where the caller left it open, `tick_spacing` likewise.
    """

    token_in: str = ""
    token_out: str = ""
    amount: str = ""
    fee: int | None = None
    tick_spacing: int | None = None


Question_contra = TypeVar("Question_contra", bound=ChainQuestion, contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)


class Reader(Protocol[Question_contra, Answer_co]):
    """Plans the calls that answer a question, and builds the answer from their outcomes. It reads no node itself.

    Tables are what changes by governance or never (lists of reserves, decimals, symbols). They are read on first use
    and kept a day; `build` checks them against what the same read returned.
    """

    def subject(self, question: Question_contra) -> Hashable:
        """Return what the tables of the question are of, the protocol and as a rule the chain.

        Questions of one subject share tables, also those of several readers.
        """
        ...

    def load(self, question: Question_contra, outcomes: Outcomes) -> Any | More:
        """Return the tables, or what has to be read for them. Called without outcomes at first.

        A reader that needs none returns None at once. Raises GatewayError where there can be none.
        """
        ...

    def plan(self, question: Question_contra, tables: Any) -> Plan:
        """Return what has to be read; InvalidArgument where the question does not fit the tables.

        A wallet's address stands in calldata and changes nothing else: plans of wallets are made once for the tables.
        """
        ...

    def build(
        self, question: Question_contra, outcomes: Outcomes, tables: Any, prices: TokenPrices
    ) -> Answer_co | Renewed | More:
        """Return the answer, or what has to be read besides (the outcomes then hold all).

        A reader that could answer although its tables proved to be old hands new ones over (`Renewed`).

        Raises:
            StaleTables: the tables are no longer those of the chain; they are read anew, once, and planned with.
            GatewayError: there is no answer (ContractUnreadable where a contract did not answer as it does).
        """
        ...


@dataclass(frozen=True, slots=True)
class ProtocolEntry:
    """What a folder exports as `PROTOCOL`.

    `slug` is its name in the address book; `readers` are by the name of the rpc that they answer. `in_summary` is the
    name of the rpc whose answer is the protocol's row in the summary, None where it has none, and `member` the member
    of `SummaryData` that takes it. `yields` is what it provides for rpcs that several protocols answer.
    """

    slug: str
    readers: Mapping[str, Reader[Any, Any]]
    in_summary: str | None = None
    member: str = ""
    yields: YieldEntry | None = None


@cache
def load_deployments(package: str) -> dict[str, Any]:
    """Return the tables of `deployments.toml` of a protocol's package, as a rule by chain slug."""
    return tomllib.loads(files(package).joinpath("deployments.toml").read_text(encoding="utf-8"))


# protoc types extensions as plain field descriptors, which the message stubs do not accept as keys.
_OPERATION: Any = options_pb2.operation
_PREFIX = "SUMMARY_PROTOCOL_"
# How long the summary waits for tables that nothing has read before.
_LOAD_TIMEOUT = 3.0


class SummaryRow(NamedTuple):
    """One protocol of a summary: `member` of `SummaryData` and its message, or a failure, or None: not on the chain."""

    protocol: str
    member: str
    outcome: Any | GatewayError | None


class _Row(NamedTuple):
    reader: Reader[Any, Any]
    chains: frozenset[str]


class ProtocolReaders:
    """Answers rpcs by the readers of the registered protocols.

    Raises:
        ValueError: two readers answer one rpc, two protocols one row of the summary or one protocol of yields.
    """

    def __init__(self, protocols: Sequence[ProtocolEntry], runner: Runner) -> None:
        self._runner = runner
        self._readers: dict[str, Reader[Any, Any]] = {}
        rows: dict[str, _Row] = {}
        for protocol in protocols:
            for rpc, reader in protocol.readers.items():
                if rpc in self._readers:
                    raise ValueError(f"two protocols answer {rpc}")
                self._readers[rpc] = reader
            if protocol.in_summary is not None:
                if protocol.member in rows:
                    raise ValueError(f"two protocols are {protocol.member} in the summary")
                rows[protocol.member] = _Row(protocol.readers[protocol.in_summary], _chains_of(protocol.in_summary))
        self._rows: Mapping[str, _Row] = rows
        self.yields: Mapping[int, YieldEntry] = _yields_of(protocols)
        """What protocols provide for yields, by YieldProtocol."""

    async def answer(self, rpc: str, question: ChainQuestion, view: ReadView) -> Reading:
        """Return the answer of the reader of that rpc; raises GatewayError as the reader does."""
        return await self._runner.answer(self._readers[rpc], question, view)

    async def answer_pool(self, rpc: str, protocol: int, question: PoolQuestion, view: ReadView) -> Reading:
        """Return a protocol's row for a pool; raises GatewayError as the reader does."""
        return await self._runner.answer(self.yields[protocol].readers[rpc], question, view)

    async def answer_best(self, protocol: int, chain: str, view: ReadView) -> Reading:
        """Return all pools of a protocol on a chain, as BestRow; raises GatewayError as the reader does."""
        best = self.yields[protocol].best
        assert best is not None, "asked of protocols that have it alone"
        return await self._runner.answer(best, ChainQuestion(chain), view)

    async def summarize(self, chain: str, address: str, view: ReadView) -> list[SummaryRow]:
        """Return a row for every protocol of the summary, in the order of SummaryProtocol, all of one block.

        Raises:
            GatewayError: nothing of the chain could be read; the first failure.
        """
        question = WalletQuestion(chain, address=address)
        asked = [member for member in _members() if member in self._rows and chain in self._rows[member].chains]
        found = await self._runner.answer_all(
            [(self._rows[member].reader, question) for member in asked], view, load_timeout=_LOAD_TIMEOUT
        )
        outcomes = dict(zip(asked, found, strict=True))
        return [SummaryRow(name, member, outcomes.get(member)) for member, name in _members().items()]


def _yields_of(protocols: Iterable[ProtocolEntry]) -> dict[int, YieldEntry]:
    found: dict[int, YieldEntry] = {}
    for protocol in protocols:
        if protocol.yields is not None:
            if protocol.yields.protocol in found:
                raise ValueError(f"{protocol.slug} answers for yields of a protocol that another one answers for")
            found[protocol.yields.protocol] = protocol.yields
    return found


def _chains_of(rpc: str) -> frozenset[str]:
    """Return the slugs of the chains that the contract lists for an rpc of PositionService."""
    method = position_pb2.DESCRIPTOR.services_by_name["PositionService"].methods_by_name[rpc]
    return frozenset(method.GetOptions().Extensions[_OPERATION].chains)


def _members() -> dict[str, str]:
    """Return the rows of the summary in order: the names in SummaryProtocol by the member of `SummaryData`."""
    names = [name for name, number in position_summary_pb2.SummaryProtocol.items() if number]
    return {name.removeprefix(_PREFIX).lower(): name for name in names}
