"""What gas costs on an EVM chain, by the ways that suit its nodes (`gas` in chains.toml).

All requests of a chain's ways, and the one about layer 1, leave in one batch; the first way that was answered counts.
An answer that is none is asked of another endpoint.
"""

from __future__ import annotations

import asyncio
from statistics import median_low
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.chains.capabilities.contracts import GasPrice, ReadsGasPrices
from server.chains.evm.reads.multicall import Call
from server.chains.shared.validated_reads import read_validated
from server.contracts.keccak import keccak
from server.contracts.words import quantity, word
from server.errors import GatewayError, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from server.chains.evm.chain import EvmChain
    from server.chains.evm.reads.cached import CachedReads
    from server.chains.evm.reads.planner import ReadPlanner
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

GET_L1_FEE = bytes.fromhex("49948e0e")

_BLOCKS = 10
_MEDIAN = 50
_ZERO_ADDRESS = "0x" + "00" * 20
_TRANSFER_KIND = b"\x02"
_TRANSFER_GAS = 21_000


class _History(msgspec.Struct, rename="camel"):
    """Base fees of the requested blocks and one more, rewards of each by percentile, how full each was."""

    base_fee_per_gas: list[str] = []
    reward: list[list[str]] | None = None
    gas_used_ratio: list[float] = []


class _Header(msgspec.Struct, rename="camel"):
    number: str
    base_fee_per_gas: str | None = None


class _LineaEstimate(msgspec.Struct, rename="camel"):
    priority_fee_per_gas: str


class Way(NamedTuple):
    """A way to a fee: a method with its parameters, and how its answer (and the base fee, for tips) is read.

    `read` returns None where the answer has no fee, raises ValueError where it is invalid.
    """

    method: str
    params: tuple[object, ...]
    read: Callable[[bytes, int], int | None]


class GasReader(ReadsGasPrices):
    """Reads the gas price of one chain."""

    def __init__(self, chain: EvmChain, pool: Pool, planner: ReadPlanner, reads: CachedReads) -> None:
        self._chain = chain
        self._pool = pool
        self._planner = planner
        self._reads = reads
        policy = chain.facts.gas
        self._base = [WAYS[name] for name in policy.base]
        self._priority = [WAYS[name] for name in policy.priority]
        self._questions: dict[str, list[Way]] = {}
        for way in (*self._base, *self._priority):
            if way.method:
                self._questions.setdefault(way.method, []).append(way)

    async def read_gas_price(self, view: ReadView) -> GasPrice:
        """Return base fee, priority fee and layer-1 fee in wei.

        A priority fee that no way reports is an error, as is a base fee; a layer-1 fee that the contract does not
        report is None.

        Raises:
            UpstreamUnavailable: the nodes did not report the fees.
            GatewayError: why the nodes could not be asked.
        """
        l1_fee, results = await asyncio.gather(
            self._l1_fee(view),
            asyncio.gather(*(self._ask(ways, view) for ways in self._questions.values())),
        )
        answers = dict(zip(self._questions, results, strict=True))
        base = self._first(self._base, answers, 0)
        return GasPrice(base, self._first(self._priority, answers, base), l1_fee)

    def _first(self, ways: Iterable[Way], answers: Mapping[str, bytes | GatewayError], base: int) -> int:
        failure: GatewayError | None = None
        for way in ways:
            answer = answers.get(way.method, b"")
            if isinstance(answer, GatewayError):
                failure = failure or answer
                continue
            fee = way.read(answer, base)
            if fee is not None:
                return fee
        raise failure or UpstreamUnavailable(f"the nodes of {self._chain.slug} do not report what gas costs")

    async def _ask(self, ways: Sequence[Way], view: ReadView) -> bytes | GatewayError:
        """Return an answer that all of the ways can read, which send the same request; or why there is none."""

        def read(result: bytes) -> bytes:
            for way in ways:
                way.read(result, 0)
            return result

        await self._planner.in_turn()
        question = ways[0]
        try:
            answer, _ = await read_validated(self._pool, question.method, question.params, read, deadline=view.deadline)
        except GatewayError as error:
            return error
        return answer

    async def _l1_fee(self, view: ReadView) -> int | None:
        facts = self._chain.facts
        if facts.l1_fee is None or not isinstance(facts.chain_id, int):
            return None
        transfer = sample_transfer(facts.chain_id, signed=facts.l1_fee.signed)
        data = GET_L1_FEE + (32).to_bytes(32) + len(transfer).to_bytes(32) + transfer + bytes(-len(transfer) % 32)
        [outcome] = await self._reads.read_shared(view, [Call(bytes.fromhex(facts.l1_fee.oracle[2:]), data)])
        return word(outcome.data) if outcome.success and len(outcome.data) >= 32 else None


def sample_transfer(chain_id: int, *, signed: bool) -> bytes:
    """Return a plain transfer as it is posted to layer 1 (EIP-1559, RLP), of usual figures.

    Addresses and signature are digests, which pack no better than real ones.
    """
    fields = [chain_id, 1_000, 10**9, 10**10, _TRANSFER_GAS, keccak(b"receiver")[:20], 123_456_789 * 10**9, b"", []]
    if signed:
        fields += [1, keccak(b"r"), keccak(b"s")]
    return _TRANSFER_KIND + _encode(fields)


def _encode(item: int | bytes | Sequence[object]) -> bytes:
    if isinstance(item, int):
        return _encode(item.to_bytes((item.bit_length() + 7) // 8))
    if isinstance(item, bytes):
        return item if len(item) == 1 and item[0] < 0x80 else _length(len(item), 0x80) + item
    content = b"".join(_encode(part) for part in item)  # type: ignore[arg-type]  # items are of the same kinds
    return _length(len(content), 0xC0) + content


def _length(size: int, offset: int) -> bytes:
    if size < 56:
        return bytes([offset + size])
    digits = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([offset + 55 + len(digits)]) + digits


def _history_base(answer: bytes, _base: int) -> int | None:
    """Return the newest block's base fee; the last entry is a forecast of the next one's."""
    fees = msgspec.json.decode(answer, type=_History).base_fee_per_gas
    return quantity(fees[-2]) if len(fees) > 1 else None


def _header_base(answer: bytes, _base: int) -> int | None:
    """Return the base fee of a block; 0 for a chain without one."""
    fee = msgspec.json.decode(answer, type=_Header).base_fee_per_gas
    return 0 if fee is None else quantity(fee)


def _rewards(answer: bytes, _base: int) -> int | None:
    """Return the median over blocks of the median tip; blocks without transactions are skipped."""
    history = msgspec.json.decode(answer, type=_History)
    tips = [
        quantity(rewards[0])
        for rewards, used in zip(history.reward or [], history.gas_used_ratio, strict=False)
        if rewards and used > 0
    ]
    return median_low(tips) if tips else None


def _suggested(answer: bytes, _base: int) -> int | None:
    return quantity(msgspec.json.decode(answer, type=str))


def _rest(answer: bytes, base: int) -> int | None:
    return max(_suggested(answer, base) or 0, base) - base


def _linea(answer: bytes, _base: int) -> int | None:
    return quantity(msgspec.json.decode(answer, type=_LineaEstimate).priority_fee_per_gas)


_FEE_HISTORY = ("eth_feeHistory", (hex(_BLOCKS), "latest", (_MEDIAN,)))
_PLAIN_TRANSFER = {"from": _ZERO_ADDRESS, "to": _ZERO_ADDRESS, "value": "0x0"}

WAYS: dict[str, Way] = {
    "history": Way(*_FEE_HISTORY, _history_base),
    "block": Way("eth_getBlockByNumber", ("latest", False), _header_base),
    "rewards": Way(*_FEE_HISTORY, _rewards),
    "suggested": Way("eth_maxPriorityFeePerGas", (), _suggested),
    "rest": Way("eth_gasPrice", (), _rest),
    "none": Way("", (), lambda _answer, _base: 0),
    "linea": Way("linea_estimateGas", (_PLAIN_TRANSFER,), _linea),
}
"""The ways by the words of chains.toml."""
