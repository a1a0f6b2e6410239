"""All readers there are: by the rpc that they answer, and those of the summary in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from waypost.v1 import options_pb2, position_pb2, position_summary_pb2

from server.protocols.reader import ChainQuestion, WalletQuestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from server.chains.view import ReadView
    from server.errors import GatewayError
    from server.protocols.reader import ProtocolEntry, Reader
    from server.protocols.runner import Reading, Runner
    from server.protocols.yields import PoolQuestion, YieldEntry

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
