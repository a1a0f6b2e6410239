"""Contracts that return what they cannot: an error that says so, never another exception, whatever is spoilt."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from server.contracts.calls import ContractCall, ContractOutcome
from server.errors import PriceUnavailable, UpstreamUnavailable
from server.protocols.aave_v2.reader import PositionReader as LendAV2
from server.protocols.aave_v3.reader import PositionReader as LendAV3
from server.protocols.compound_v2.reader import PositionReader as LendBV2
from server.protocols.compound_v3.reader import PositionReader as LendBV3
from server.protocols.lido.reader import PositionReader as StakeA
from server.protocols.llamalend.reader import PositionReader as Vaults
from server.protocols.morpho.reader import PositionReader as LendC
from server.protocols.reader import WalletQuestion
from tests.examples import examples
from tests.server.protocols import test_lending_b as lend_b
from tests.server.protocols import test_pooled_lending as lend_a
from tests.server.protocols import test_vaults_and_staking as vaults
from tests.server.protocols.morpho import test_reader as lend_c
from tests.server.protocols.scripted import Readers, World

if TYPE_CHECKING:
    from collections.abc import Callable

WALLET = lend_a.WALLET


def lend_a_v3() -> World:
    world = lend_a.Market()
    world.supplies.update(dict.fromkeys(lend_a.ASSETS, 10**6))
    world.debts[lend_a.ASSETS[0]] = 5
    world.account(9, 5, 1, 8_000, 7_000, 10**18)
    return world


def lend_a_v2() -> World:
    world = lend_a.OldMarket(lend_a.ASSETS)
    world.held = dict.fromkeys(lend_a.ASSETS, (1, 2, 3))
    return world


def lend_b_v3() -> World:
    world = lend_b.Markets(17)
    world.held = {lend_b.ASSETS[16]: 5}
    world.balance(lend_b.FIRST, debt=5, used=1 << 16)
    return world


def lend_b_v2() -> World:
    world = lend_b.CTokens()
    for market in lend_b._markets("ethereum").values():
        world.put(market, "balanceOfUnderlying(address)", "uint256", 7)
    return world


def fixed_markets() -> World:
    world = lend_c.Markets()
    world.totals = {one: (*totals[:4], lend_c.NOW - 60, 10**17) for one, totals in world.totals.items()}
    world.positions = dict.fromkeys(world.positions, (10**18, 10**17, 1))
    world.rate(10**9)
    return world


def factories() -> World:
    world = vaults.Factories()
    world.put(vaults.vault_at(0), "balanceOf(address)", "uint256", 9)
    return world


def staking() -> World:
    world, wrapped = World(), vaults.lido("ethereum", "wstETH")
    for signature in ("stEthPerToken()", "tokensPerStEth()", "balanceOf(address)"):
        world.put(wrapped, signature, "uint256", 12 * 10**17)
    world.put(vaults.lido("ethereum", "stETH"), "balanceOf(address)", "uint256", 1)
    return world


CASES: dict[str, tuple[Any, str, Callable[[], World]]] = {
    "lend-a V3": (LendAV3(), "ethereum", lend_a_v3),
    "lend-a V2": (LendAV2(), "ethereum", lend_a_v2),
    "lend-b V3": (LendBV3(), "polygon", lend_b_v3),
    "lend-b V2": (LendBV2(), "ethereum", lend_b_v2),
    "lend-c": (LendC(), "base", fixed_markets),
    "pool-a lending": (Vaults(), "ethereum", factories),
    "stake-a": (StakeA(), "ethereum", staking),
}
every_reader = pytest.mark.parametrize("case", CASES)

WORDS = (0, 1, 32, 255, 256, 2**64, 2**127, 2**128, 2**160, 2**255, 2**256 - 1)


class Spoiler(NamedTuple):
    """A way to spoil what a call returned."""

    kind: str
    place: int
    word: int
    filling: bytes

    def spoil(self, data: bytes) -> ContractOutcome:
        if self.kind == "nothing":
            return ContractOutcome(True, b"")
        if self.kind == "fails":
            return ContractOutcome(False, self.filling)
        if self.kind == "cut":
            return ContractOutcome(True, data[: self.place % max(len(data), 1)])
        if self.kind == "longer":
            return ContractOutcome(True, data + self.filling)
        if self.kind == "word":
            words = [data[start : start + 32] for start in range(0, len(data), 32)] or [b""]
            words[self.place % len(words)] = self.word.to_bytes(32, "big")
            return ContractOutcome(True, b"".join(words))
        if self.kind == "bytes":
            return ContractOutcome(True, self.filling)
        text = b"\xff\xfe\0x\0".ljust(32, b"\0")
        return ContractOutcome(True, (32).to_bytes(32, "big") + (5).to_bytes(32, "big") + text)


SPOILERS = st.builds(
    Spoiler,
    kind=st.sampled_from(["nothing", "fails", "cut", "longer", "word", "word", "bytes", "text"]),
    place=st.integers(0, 1 << 12),
    word=st.sampled_from(WORDS),
    filling=st.binary(max_size=200),
)


@every_reader
async def test_unspoilt_they_answer(case: str) -> None:
    reader, chain, build = CASES[case]
    found = await Readers(build()).ask(reader, WalletQuestion(chain, address=WALLET))
    assert found.ByteSize() > 0


async def answer(case: str, readers: Readers) -> None:
    """Ask; what comes back is a whole message, or an error that says which contracts did not answer."""
    reader, chain, _ = CASES[case]
    try:
        found = await readers.ask(reader, WalletQuestion(chain, address=WALLET))
    except (UpstreamUnavailable, PriceUnavailable) as error:
        failure: Exception | None = error
    else:
        failure = None
        assert isinstance(found, Message)
        assert len(found.SerializeToString()) < 1 << 20
    assert failure is None or chain in str(failure)


@every_reader
@settings(max_examples=examples(40), deadline=None)
@given(
    spoilers=st.lists(SPOILERS, min_size=1, max_size=4),
    every=st.sampled_from([1, 2, 3, 7, 20]),
    first=st.integers(0, 20),
    is_warm=st.booleans(),
)
async def test_what_is_spoilt_is_an_answer_or_names_a_contract(
    case: str, spoilers: list[Spoiler], every: int, first: int, is_warm: bool
) -> None:
    reader, chain, build = CASES[case]
    world = build()
    readers = Readers(world)
    if is_warm:
        await readers.ask(reader, WalletQuestion(chain, address=WALLET))
    calls = count(first)

    def spoil(_: ContractCall, outcome: ContractOutcome) -> ContractOutcome:
        place = next(calls)
        return outcome if place % every else spoilers[place % len(spoilers)].spoil(outcome.data)

    world.spoil = spoil
    await answer(case, readers)


@every_reader
@pytest.mark.parametrize("number", WORDS)
async def test_the_same_word_everywhere(case: str, number: int) -> None:
    world = CASES[case][2]()
    word = number.to_bytes(32, "big")
    world.spoil = lambda call, outcome: ContractOutcome(True, word * max(1, len(outcome.data) // 32))
    await answer(case, Readers(world))
