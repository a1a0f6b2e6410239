"""lend-a's and lend-d's yields while nodes misbehave and contracts fail: the right figure, null, or an error.

Never another figure, never an internal error. Contracts are broken on the real nodes, which are set back afterwards;
nodes are spoilt by proxies in front of them, two to a chain.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known
from devnet.evm.artifacts import RUNTIMES
from devnet.evm.lending_a_v3 import price_source
from devnet.evm.treasury import token_of
from devnet.known_lending import LEND_A_V3, LEND_D
from devnet.launcher import Devnet
from runtime.settings import load_settings
from tests.e2e.gateway import RunningGateway, run_gateway
from tests.faults import simulator as faults
from tests.faults.simulator import FaultyNode
from tests.rewinding import rewound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.evm.node import Node
    from devnet.known_lending import Pool

pytestmark = pytest.mark.devnet

CHAINS: dict[str, Pool] = {"ethereum": LEND_A_V3["ethereum"], "hyperliquid": LEND_D["hyperliquid"]}
REVERTS = "0x5f5ffd"
ZEROS = "0x60205ff3"  # answers every call with a word of zeros


def question(chain: str, symbol: str = "USDC") -> dict[str, dict[str, str]]:
    """Return what is asked of a pool, by operation."""
    if chain == "ethereum":
        asked = {"chain": chain, "protocol": "lend-a", "pool": symbol}
        return {
            "getYieldsLending": asked,
            "getYieldsBalance": asked | {"address": known.VITALIK},
            "getYieldsPrice": asked,
        }
    asked = {"chain": chain, "protocol": "lend-d", "pool": _hyper[symbol]}
    return {"getYieldsLending": asked, "getYieldsBalance": asked | {"address": known.ALICE}}


_hyper = {
    "USDC": "0xb88339CB7199b77E23DB6E890353E22632Ba630f",
    "kHYPE": "0xfD739d4e423301CE9385c1fb8850539D657C296D",
    "WHYPE": "0x5555555555555555555555555555555555555555",
}
_UNSEEN = count(0x60000)
ASKED = [(chain, method) for chain in CHAINS for method in question(chain)]


@dataclass
class Case:
    """A gateway whose ethereum and hyperliquid are two proxies each in front of one node."""

    gateway: RunningGateway
    fronts: dict[str, list[FaultyNode]]
    nodes: dict[str, Node]

    async def ask(self, chain: str, method: str, symbol: str = "USDC") -> Any:
        """Return the row; the call must succeed."""
        answer = await self.gateway.ask(method, question(chain, symbol)[method])
        assert "result" in answer, answer
        [row] = answer["result"]["data"]["results"]
        return row

    async def fails(self, chain: str, method: str, symbol: str = "USDC") -> Any:
        """Return the error; the call must fail, and name neither URL nor key."""
        answer = await self.gateway.ask(method, question(chain, symbol)[method])
        assert "error" in answer, answer
        assert "secret-key-in-path" not in json.dumps(answer)
        assert "127.0.0.1" not in json.dumps(answer)
        return answer["error"]

    def spoil(self, fault: faults.Fault, *, first_only: bool = False) -> None:
        for fronts in self.fronts.values():
            for front in fronts[: 1 if first_only else None]:
                front.fault = fault

    async def next_block(self, chain: str) -> None:
        """Have the gateway see another block, so that nothing is answered from memory."""
        await self.nodes[chain].call("evm_mine")
        unseen = f"0x{next(_UNSEEN):040x}"
        answer = await self.gateway.ask("getBalance", {"chain": chain, "address": unseen})
        assert "result" in answer, answer


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lending() -> AsyncIterator[Devnet]:
    async with Devnet.start(tuple(CHAINS), mines=False) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def case(lending: Devnet, tmp_path: Path) -> AsyncIterator[Case]:
    fronts = {chain: [FaultyNode(lending.nodes[chain].url) for _ in range(2)] for chain in CHAINS}
    for front in (one for pair in fronts.values() for one in pair):
        await front.start()
    overrides: dict[str, Any] = lending.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{tmp_path / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
    }
    overrides["chains"] = {
        chain: {
            "endpoints": [
                {"label": label, "url": front.url, "weight": weight}
                for label, weight, front in zip(("first", "second"), (1000, 1), pair, strict=True)
            ]
        }
        for chain, pair in fronts.items()
    }
    settings = load_settings(environ={}, overrides=overrides)
    async with (
        rewound(lending.nodes["ethereum"]),
        rewound(lending.nodes["hyperliquid"]),
        run_gateway(settings) as gateway,
    ):
        yield Case(gateway, fronts, lending.nodes)
    for front in (one for pair in fronts.values() for one in pair):
        await front.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def truth(lending: Devnet, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    """What every operation answers where nothing is wrong."""
    folder = tmp_path_factory.mktemp("truth")
    overrides: dict[str, Any] = lending.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
    }
    found = {}
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as gateway:
        for chain, method in ASKED:
            answer = await gateway.ask(method, question(chain)[method])
            [found[chain, method]] = answer["result"]["data"]["results"]
    return found


# Nodes


def capped(gas: int) -> faults.Fault:
    """Let no `eth_call` take more gas than this."""

    async def fault(request: faults.Request) -> None:
        parsed = json.loads(request.body)
        for one in parsed if isinstance(parsed, list) else [parsed]:
            if one["method"] == "eth_call":
                one["params"][0]["gas"] = hex(gas)
        faults.write_answer(request, await request.forward(json.dumps(parsed).encode()))

    return fault


HARMLESS = {
    "gas capped at 2 million": capped(2_000_000),
    "no batches": faults.refuse_batches(),
    "answers in another order": faults.shuffled,
    "zipped": faults.zipped,
    "cut short once": faults.first(1, faults.cut),
}


@pytest.mark.parametrize("fault", HARMLESS)
async def test_a_node_with_ways_of_its_own_changes_no_answer(case: Case, truth: Any, fault: str) -> None:
    case.spoil(HARMLESS[fault])
    for chain, method in ASKED:
        assert await case.ask(chain, method) == truth[chain, method]


BAD: dict[str, faults.Fault] = {
    "drops": faults.drop,
    "a web page": faults.web_page,
    "half a document": faults.cut_json,
    "too many requests": faults.too_many,
    "an internal error": faults.error(-32603, "internal error", line="500 Internal Server Error"),
    "a number": faults.status("200 OK", b"17"),
    "other requests' answers": faults.wrong_id,
    "nothing at all": faults.status("200 OK", b""),
}


@pytest.mark.parametrize("fault", BAD)
async def test_one_bad_node_of_two_is_passed_over(case: Case, truth: Any, fault: str) -> None:
    case.spoil(BAD[fault], first_only=True)
    for chain, method in ASKED:
        assert await case.ask(chain, method) == truth[chain, method]
        assert case.fronts[chain][1].asked, "the second was asked"


@pytest.mark.parametrize("fault", BAD)
async def test_nodes_that_do_not_answer_are_an_error_that_says_so(case: Case, fault: str) -> None:
    case.spoil(BAD[fault])
    for chain, method in ASKED:
        error = await case.fails(chain, method)
        assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE"), (method, error)


async def test_a_node_that_comes_back_is_asked_again_and_tables_survive(case: Case, truth: Any) -> None:
    for chain, method in ASKED:
        await case.ask(chain, method)
    for chain in CHAINS:
        await case.fronts[chain][0].stop()
        await case.next_block(chain)
    for chain, method in ASKED:
        row = await case.ask(chain, method)
        assert row["blockHeight"] == truth[chain, method]["blockHeight"] + 1
    for chain in CHAINS:
        await case.fronts[chain][0].start()
        await case.fronts[chain][1].stop()
        await case.next_block(chain)
    for chain, method in ASKED:
        assert (await case.ask(chain, method))["blockHeight"] == truth[chain, method]["blockHeight"] + 2


def shortened(request_answer: dict[str, Any]) -> None:
    if isinstance(request_answer.get("result"), str) and len(request_answer["result"]) > 600:
        request_answer["result"] = request_answer["result"][:-256]


async def test_what_was_cut_from_an_answer_is_never_a_figure(case: Case, truth: Any) -> None:
    """The end of an execution's data is missing: another node's answer, or an error."""
    case.spoil(faults.spoil("eth_call", shortened), first_only=True)
    for chain, method in ASKED:
        answer = await case.gateway.ask(method, question(chain)[method])
        if "result" in answer:
            assert answer["result"]["data"]["results"] == [truth[chain, method]]
        else:
            assert answer["error"]["code"] == 503, answer


# Contracts


@pytest.mark.parametrize("code", [REVERTS, "0x", ZEROS, *RUNTIMES])
@pytest.mark.parametrize("chain", CHAINS)
async def test_a_feed_that_breaks_leaves_rates_as_they_are(case: Case, truth: Any, chain: str, code: str) -> None:
    """It reverts, is gone, answers 0, burns all gas, or returns or reverts with a megabyte."""
    for method in question(chain):
        await case.ask(chain, method)
    broken = code if code.startswith("0x") else "0x" + RUNTIMES[code].hex()
    await case.nodes[chain].call("anvil_setCode", price_source("USDC"), broken)
    await case.next_block(chain)
    row, before = await case.ask(chain, "getYieldsLending"), truth[chain, "getYieldsLending"]
    assert row["tvl"] is None
    assert [row[name] for name in ("supplyApy", "borrowApy", "basis")] == [
        before[name] for name in ("supplyApy", "borrowApy", "basis")
    ]
    row, before = await case.ask(chain, "getYieldsBalance"), truth[chain, "getYieldsBalance"]
    assert row["balance"]["USDC"] == pytest.approx(before["balance"]["USDC"], rel=1e-6)
    assert row["balance"]["USD"] == (None if before["balance"]["USDC"] else 0)
    if chain == "ethereum":
        error = await case.fails(chain, "getYieldsPrice")
        assert (error["code"], error["data"]["reason"]) == (503, "PRICE_UNAVAILABLE")
        assert "lend-a on ethereum has no price of USDC" in error["message"]
    # A neighbour keeps its price.
    other = "DAI" if chain == "ethereum" else "WHYPE"
    assert (await case.ask(chain, "getYieldsLending", other))["tvl"] > 0


@pytest.mark.parametrize(
    ("contract", "code"),
    [
        *((contract, code) for contract in ("pool", "provider", "data_provider") for code in (REVERTS, "0x")),
        *(("data_provider", code) for code in RUNTIMES),
        ("pool", "return_bomber"),
    ],
)
@pytest.mark.parametrize("chain", CHAINS)
async def test_a_contract_of_the_market_that_breaks_is_an_error(
    case: Case, chain: str, contract: str, code: str
) -> None:
    broken = code if code.startswith("0x") else "0x" + RUNTIMES[code].hex()
    await case.ask(chain, "getYieldsLending")
    await case.nodes[chain].call("anvil_setCode", getattr(CHAINS[chain], contract), broken)
    await case.next_block(chain)
    for method in question(chain):
        error = await case.fails(chain, method)
        found = error["code"], error["data"]["reason"]
        # Words of zeros are an empty list of reserves, or one that is not active.
        assert found == (503, "UPSTREAM_UNAVAILABLE") or (code == "return_bomber" and found == (404, "NOT_FOUND")), (
            error
        )
    if code in (REVERTS, "0x"):
        address = getattr(CHAINS[chain], contract)
        error = await case.fails(chain, "getYieldsLending")
        # The data provider asks the pool, and is named where that fails: it is what was called.
        assert (f"{address} on {chain}" in error["message"]) or contract == "pool"
        assert ("no contract is there" in error["message"]) or code == REVERTS or contract == "pool"


@pytest.mark.parametrize("chain", CHAINS)
async def test_a_token_that_breaks_takes_no_pool_with_it(case: Case, chain: str) -> None:
    """Also before there are tables: its name is the catalogue's then, or its address."""
    symbol = "USDC" if chain == "ethereum" else "kHYPE"
    token = token_of(case.nodes[chain].chain, symbol).address
    await case.nodes[chain].call("anvil_setCode", token, REVERTS)
    await case.nodes[chain].call("evm_mine")
    row = await case.ask(chain, "getYieldsBalance", symbol)
    assert list(row["balance"]) == [symbol if chain == "ethereum" else token, "USD"]
    assert (await case.ask(chain, "getYieldsLending", "DAI" if chain == "ethereum" else "WHYPE"))["tvl"] > 0
