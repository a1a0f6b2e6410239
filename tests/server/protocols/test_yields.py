"""What readers of yields share: forms of pools, times, documents in plans."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from server.apis.documents import Document, DocumentRequest
from server.chains.view import ReadView
from server.errors import InvalidArgument, UpstreamUnavailable
from server.protocols.plan import Group, More, Outcomes, Plan
from server.protocols.reader import ChainQuestion
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.yields import PoolForm, block_clock, canonical_pool, oldest, read_block_time, unknown_pool
from tests.server.protocols.scripted import NoPrices, World

VAULTS, RATES = DocumentRequest("vaults", ("ethereum",)), DocumentRequest("rates")
EARLY = datetime(2026, 1, 1, tzinfo=UTC)


def test_addresses_of_pools_are_checksummed() -> None:
    address = "0xD0354D4e7bCf345fB117cabe41aCaDb724eccCa2"
    assert canonical_pool(PoolForm.ADDRESS, address.lower()) == address
    for wrong in (address[:-1], "0xd0354D4e7bCf345fB117cabe41aCaDb724eccCa2", "USDC", ""):
        with pytest.raises(InvalidArgument, match="pool: ") as refused:
            canonical_pool(PoolForm.ADDRESS, wrong)
        assert refused.value.field == "pool"


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        (PoolForm.SYMBOL, ["USDC", "USDC.e", "USD₮0", "PT-sUSDE-25SEP2026"], ["", " USDC", "USDC\n", "x" * 41]),
        (PoolForm.VAULT_ID, ["bifi-vault", "a_b.c"], ["", "a b", "é", "x" * 101]),
        (PoolForm.TOKEN_NAME, ["mTBILL", "mRE7"], ["", "m TBILL", "m\x00"]),
    ],
)
def test_words_have_a_form(form: PoolForm, right: list[str], wrong: list[str]) -> None:
    assert [canonical_pool(form, text) for text in right] == right
    for text in wrong:
        with pytest.raises(InvalidArgument, match="pool: "):
            canonical_pool(form, text)


def test_an_unknown_pool_names_the_nearest() -> None:
    found = unknown_pool("USDC.x", ["USDC", "USDC.e", "WBTC"], of="lend-a on polygon")
    assert "no such pool of lend-a on polygon" in found.message
    assert "USDC.e" in found.message
    assert "WBTC" not in found.message
    assert found.field == "pool"


def test_the_oldest_time_counts() -> None:
    late = datetime(2026, 2, 1, tzinfo=UTC)
    assert oldest(late, None, EARLY) == EARLY


class Library:
    """Documents by request, and what was asked for."""

    def __init__(self, found: dict[DocumentRequest, Any]) -> None:
        self.found, self.asked = found, list[DocumentRequest]()

    async def read(self, request: DocumentRequest, *, deadline: Any, cache: Any) -> Document:
        self.asked.append(request)
        found = self.found[request]
        if isinstance(found, Exception):
            raise found
        return Document(found, EARLY)


class Vault:
    """Needs a document to know which contract to call."""

    def subject(self, question: ChainQuestion) -> str:
        return "vault"

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> None:
        return None

    def plan(self, question: ChainQuestion, tables: None) -> Plan:
        return Plan(documents=(VAULTS, RATES))

    def build(self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: Any) -> Any:
        if "clock" not in outcomes:
            return More(Plan({"clock": Group((block_clock(outcomes.document(VAULTS).value),))}))
        rates = outcomes.find_document(RATES)
        return read_block_time(outcomes["clock"][0]), rates and rates.value


async def test_a_document_says_what_to_call_and_one_that_fails_is_the_readers_to_judge() -> None:
    world = World()
    world.put("0xcA11bde05977b3631167028862bE2a173976CA11", "getCurrentBlockTimestamp()", "uint256", 1_700_000_000)
    library = Library({VAULTS: "ethereum", RATES: UpstreamUnavailable("the source is away")})
    runner = Runner(lambda _slug, _wanted: world, TableStore(), NoPrices(), library)
    reading = await runner.answer(Vault(), ChainQuestion("ethereum"), ReadView())
    assert reading.answer == (datetime.fromtimestamp(1_700_000_000, UTC), None)
    assert reading.block == world.block
    assert sorted(library.asked) == sorted([VAULTS, RATES])
    assert len(world.requests) == 1


async def test_a_failed_document_that_is_needed_fails_the_answer_of_each_reader() -> None:
    library = Library({VAULTS: UpstreamUnavailable("the source is away"), RATES: {}})
    runner = Runner(lambda _slug, _wanted: World(), TableStore(), NoPrices(), library)
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable, match="the source is away"):
            await runner.answer(Vault(), ChainQuestion("ethereum"), ReadView())
