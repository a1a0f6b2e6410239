"""Whatever a contract returns, a read of it is an answer or a refusal that names it, never a defect of ours."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.chains.view import ReadView
from server.contracts.address import checksum_address
from server.contracts.calls import ContractOutcome
from server.errors import NotAToken, NotEnumerable, NotFound, Reverted
from server.nfts.calls import PROBES, read_standard
from server.nfts.contracts import NftContracts
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

CONTRACT, ACCOUNT = checksum_address("0x" + "11" * 20), checksum_address("0x" + "22" * 20)
TRUE, FALSE = (1).to_bytes(32, "big"), bytes(32)
NO_CODE = ContractOutcome(True, b"")
FAILED = ContractOutcome(False, b"")
EXPECTED = (NotAToken, NotEnumerable, NotFound, Reverted)

WORDS = st.one_of(
    st.sampled_from([b"", TRUE, FALSE, b"\xff" * 32, (32).to_bytes(32, "big"), (2**255).to_bytes(32, "big")]),
    st.integers(0, 2**256 - 1).map(lambda number: number.to_bytes(32, "big")),
)
DATA = st.one_of(st.binary(max_size=130), st.lists(WORDS, max_size=5).map(b"".join))
OUTCOMES = st.builds(ContractOutcome, st.booleans(), DATA)


class Contract:
    """Returns what it was given, in order; the reads' own way to a node is proved elsewhere."""

    def __init__(self, outcomes: Sequence[ContractOutcome]) -> None:
        self._outcomes = list(outcomes)
        self.batches: list[int] = []

    def capability(self, slug: str, wanted: Any) -> Contract:
        return self

    async def call_contracts(self, calls: Sequence[Any], view: ReadView, *, are_known: bool) -> list[ContractOutcome]:
        assert not are_known
        assert {call.to for call in calls} == {CONTRACT}
        self.batches.append(len(calls))
        view.settle(1, None)
        return [self._outcomes[index % len(self._outcomes)] for index in range(len(calls))]


READS: dict[str, Callable[[NftContracts], Awaitable[Any]]] = {
    "collection": lambda nfts: nfts.read_collection("ethereum", CONTRACT, ReadView()),
    "owner": lambda nfts: nfts.read_owner("ethereum", CONTRACT, 1, ReadView()),
    "token": lambda nfts: nfts.read_token("ethereum", CONTRACT, 2**256 - 1, ReadView()),
    "balance": lambda nfts: nfts.read_balance("ethereum", CONTRACT, ACCOUNT, ReadView()),
    "tokens": lambda nfts: nfts.read_tokens("ethereum", CONTRACT, ACCOUNT, ReadView()),
    "pairs": lambda nfts: nfts.read_multi_balances("ethereum", CONTRACT, [(ACCOUNT, 1)] * 3, ReadView()),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@settings(max_examples=examples(60), deadline=None)
@given(outcomes=st.lists(OUTCOMES, min_size=1, max_size=9))
async def test_any_answers(read: Callable[[NftContracts], Awaitable[Any]], outcomes: list[ContractOutcome]) -> None:
    contract = Contract(outcomes)
    with suppress(*EXPECTED):
        await read(NftContracts(contract))  # type: ignore[arg-type]
    assert sum(contract.batches) <= PROBES + 2 + 99


@given(st.lists(OUTCOMES, min_size=PROBES, max_size=PROBES))
def test_nothing_is_stated_but_by_a_contract_that_answers_detection_as_it_should(
    outcomes: list[ContractOutcome],
) -> None:
    standard = read_standard(outcomes)
    is_denied = not outcomes[1].succeeded or outcomes[1].data in (b"", FALSE)
    for place, flag in enumerate(standard[:3], start=2):
        wanted = outcomes[0] == (True, TRUE) and is_denied and outcomes[place].succeeded
        if flag:
            assert outcomes[place].data[:32] == TRUE
            assert outcomes[0].data[:32] == TRUE
            assert is_denied
        elif wanted:
            assert outcomes[place].data[:32] != TRUE


@pytest.mark.parametrize(
    ("balance", "first", "rest", "stated", "outcome"),
    [
        (0, None, None, True, ([], 0)),
        (0, None, None, False, NotEnumerable),
        (1, 7, None, True, ([7], 1)),
        (1, 7, None, False, ([7], 1)),
        (1, None, None, True, NotEnumerable),
        (3, 7, 8, True, ([7, 8, 8], 3)),
        (3, 7, None, True, NotEnumerable),
        (2**256 - 1, 7, 8, True, ([7, *[8] * 99], 2**256 - 1)),
    ],
)
async def test_listing(balance: int, first: int | None, rest: int | None, stated: bool, outcome: Any) -> None:
    def reported(number: int | None) -> ContractOutcome:
        return ContractOutcome(False, b"\x08") if number is None else ContractOutcome(True, number.to_bytes(32, "big"))

    yes, no = ContractOutcome(True, TRUE), ContractOutcome(True, FALSE)

    class Lister(Contract):
        async def call_contracts(
            self, calls: Sequence[Any], view: ReadView, *, are_known: bool
        ) -> list[ContractOutcome]:
            self.batches.append(len(calls))
            if len(self.batches) > 1:
                return [reported(rest)] * len(calls)
            return [yes, no, yes, yes if stated else no, no, FAILED, FAILED, reported(balance), reported(first)]

    lister = Lister([NO_CODE])
    reading = NftContracts(lister).read_tokens("ethereum", CONTRACT, ACCOUNT, ReadView())  # type: ignore[arg-type]
    if isinstance(outcome, type):
        with pytest.raises(outcome):
            await reading
    else:
        assert tuple(await reading) == outcome
    first_batch = PROBES + 2
    assert lister.batches == ([first_batch] if balance < 2 else [first_batch, min(balance, 100) - 1])
