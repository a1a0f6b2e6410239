"""Calls and simulations of an operator's own app: folding, senders, heights, reverts, answers that are none."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from bench.relay import CountingRelay
from devnet import known
from devnet import known_marketplace as places
from devnet.evm.world import load_world
from runtime.settings import load_settings
from server.contracts.address import checksum_address
from tests.e2e.gateway import run_gateway
from tests.rewinding import rewound
from tests.server.marketplace.conftest import Marketplace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aiohttp import web

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

UINT, TEXT, ADDRESS = {"type": "uint256"}, {"type": "string"}, {"type": "address"}


def function(name: str, inputs: list[Any], outputs: list[Any], mutability: str = "view") -> dict[str, Any]:
    """Return an ABI item whose parameters are named by their place."""
    named = [{"name": f"a{index}", **one} for index, one in enumerate(inputs)]
    unnamed = [{"name": "", **one} for one in outputs]
    return {"type": "function", "name": name, "inputs": named, "outputs": unnamed, "stateMutability": mutability}


# What stands at PROBER, with two forms of one name, and functions that it does not have.
ABI = [
    function("answer", [], [UINT], "pure"),
    function("pair", [ADDRESS], [UINT, ADDRESS]),
    function("block_number", [], [UINT]),
    function("say", [UINT, TEXT], [UINT], "nonpayable"),
    function("deposit", [], [UINT], "payable"),
    function("fail_with_reason", [TEXT], [], "pure"),
    function("fail_with_code", [UINT], [], "pure"),
    function("number", [], [UINT]),
    function("twice", [UINT], [UINT]),
    function("twice", [TEXT], [UINT]),
    function("listing", [], [{"type": "uint256[][]"}]),
    function("touch", [], [], "payable"),
    function("guard", [UINT], []),
    {"type": "error", "name": "Failed", "inputs": [{"name": "code", "type": "uint256"}]},
]
FIXED, TEMPLATE = "svc_prober_ethereum_prober", "svc_anyprober_prober"

# A contract that returns who calls it and how much gas is left, published twice: to run alone, and as any other.
ASKER, ASKER_CODE = checksum_address("0x00000000000000000000000000000000a5ce0001"), "0x335f525a60205260405ff3"
ASKER_ABI = [function("ask", [], [ADDRESS, UINT]), function("touch", [], [], "payable"), function("guard", [], [])]
ASKER_APP = f"""
name = "Asker"
deployments = [
    {{ name = "alone", chain = "ethereum", address = "{ASKER}", abi = "abi.json", alone = ["ask"] }},
    {{ name = "folded", chain = "ethereum", address = "{ASKER}", abi = "abi.json" }},
]
"""


class RecordingRelay(CountingRelay):
    """Counts requests, and keeps the methods of the JSON-RPC calls in them."""

    methods: list[str]

    async def _relay(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        self.methods += [one["method"] for one in (body if isinstance(body, list) else [body])]
        return await super()._relay(request)


@dataclass(frozen=True)
class Site:
    """A gateway that publishes the app, behind whose back the requests to ethereum's node are counted."""

    marketplace: Marketplace
    relay: RecordingRelay

    async def asked(self) -> int:
        self.relay.methods = []
        count, self.relay.requests = self.relay.requests, 0
        return count


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(full_devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder: Path = tmp_path_factory.mktemp("apps")
    for app, more in (("prober", f'chain = "ethereum"\naddress = "{known.PROBER}"'), ("anyprober", "")):
        (folder / app).mkdir()
        (folder / app / "abi.json").write_text(json.dumps(ABI))
        template = "" if more else "template = true\n"
        table = f'name = "Prober"\n{template}\n[[deployments]]\nname = "prober"\nabi = "abi.json"\n{more}\n'
        (folder / app / "app.toml").write_text(table)
    (folder / "asker").mkdir()
    (folder / "asker" / "abi.json").write_text(json.dumps(ASKER_ABI))
    (folder / "asker" / "app.toml").write_text(ASKER_APP)
    overrides: dict[str, Any] = full_devnet.settings_overrides()
    relay = RecordingRelay(full_devnet.nodes["ethereum"].url)
    relay.methods = []
    chains = overrides["chains"] | {"ethereum": {"endpoints": [{"label": "counted", "url": await relay.start()}]}}
    overrides |= {
        "chains": chains,
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1"},
        "marketplace": {"apps": str(folder)},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        found = Site(Marketplace(running, full_devnet), relay)
        await found.marketplace.call(f"{FIXED}_call_answer")
        yield found
    await relay.close()


@pytest.fixture
def marketplace(site: Site) -> Marketplace:  # type: ignore[misc]  # stands before that of the folder
    return site.marketplace


async def test_unrelated_calls_of_published_contracts_share_one_request(site: Site) -> None:
    names = ["svc_lido_ethereum_wsteth_call_name", "svc_cbeth_ethereum_cbeth_call_exchangeRate"]
    names += ["svc_ethena_ethereum_susde_call_totalAssets", "svc_rocketpool_ethereum_reth_call_getTotalCollateral"]
    batch = [{"jsonrpc": "2.0", "id": number, "method": name} for number, name in enumerate(names)]
    await site.asked()
    answers = await (await site.marketplace.gateway.post(batch)).json()
    assert site.relay.methods == ["eth_call"], "one execution"
    assert await site.asked() == 1
    assert len({answer["result"]["data"]["blockHeight"] for answer in answers}) == 1


async def test_contracts_of_the_callers_choice_run_apart_in_one_request(site: Site) -> None:
    """One of them changes what others hold when it is called: the others are answered as if it were not there."""
    coin = load_world()["ethereum"].wrapped_native.address
    where = [known.UNICODE_TOKEN, known.HOSTILE_TOKEN, coin, known.WHOLE_TOKEN]
    name, account = "svc_erc20_erc20api_call_balanceOf", known.HOSTILE_TOKEN
    batch = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": name,
            "params": {"chain": "ethereum", "address": address, "args": [account]},
        }
        for number, address in enumerate(where)
    ]
    await site.asked()
    answers = await (await site.marketplace.gateway.post(batch)).json()
    # The question for the chain's id rides along.
    assert site.relay.methods == [*["eth_call"] * len(where), "eth_chainId"], "each in an execution of its own"
    assert await site.asked() == 1
    alone = await site.marketplace.call(name, chain="ethereum", address=coin, args=[account])
    assert [answer["result"]["data"]["outputs"] for answer in answers][2] == alone["outputs"] != ["0"]


async def test_an_answer_is_remembered_for_its_block(site: Site) -> None:
    first = await site.marketplace.call(f"{FIXED}_call_pair", args=[places.STETH])
    await site.asked()
    assert await site.marketplace.call(f"{FIXED}_call_pair", args=[places.STETH.lower()]) == first
    assert await site.asked() == 0


async def test_a_call_with_a_sender_is_answered_for_that_sender(site: Site) -> None:
    data = await site.marketplace.call(f"{FIXED}_call_pair", args=[known.ALICE], from_=known.BOB)
    assert data["outputs"][1] == known.ALICE
    # A view function may be asked with a value, which this one does not take.
    error = await site.marketplace.refused(f"{FIXED}_call_answer", from_=known.ALICE, value="1")
    assert (error["code"], error["data"]["reason"]) == (400, "REVERTED")


async def test_functions_that_are_named_alone_are_never_folded(site: Site) -> None:
    """They answer what a plain eth_call does; of folded ones sender and gas are those of the contract that folds."""
    node, stranger = site.marketplace.devnet.nodes["ethereum"], "0x" + "00" * 20
    alone, folded = "svc_asker_ethereum_alone_call_ask", "svc_asker_ethereum_folded_call_ask"
    async with rewound(node):
        await node.call("anvil_setCode", ASKER, ASKER_CODE)
        plain = await node.call("eth_call", {"to": ASKER}, "latest")
        sender, gas = int(plain[2:66], 16), int(plain[66:], 16)
        assert sender == 0
        await site.asked()
        assert (await site.marketplace.call(alone))["outputs"][0] == stranger
        # Once over each face.
        assert site.relay.methods == ["eth_blockNumber", "eth_call", "eth_getBlockByNumber", "eth_chainId"] * 2
        assert await site.asked() == 2
        for name in (alone, folded):
            assert (await site.marketplace.call(name, from_=known.BOB))["outputs"][0] == known.BOB
        batch = [{"jsonrpc": "2.0", "id": number, "method": name} for number, name in enumerate((alone, folded))]
        answers = await (await site.marketplace.gateway.post(batch)).json()
        (own_sender, own_gas), (shared_sender, shared_gas) = (one["result"]["data"]["outputs"] for one in answers)
        assert (own_sender, shared_sender) == (stranger, known.MULTICALL3)
        # The four bytes of calldata cost a little.
        assert gas - 100 <= int(own_gas) <= gas
        assert int(shared_gas) < int(own_gas) - 10_000


async def test_what_is_wrong_with_arguments_is_reported_without_asking_a_node(site: Site) -> None:
    await site.asked()
    for params in ({"args": ["x"]}, {"args": []}, {"args": [known.ALICE, 1]}, {"args": [known.ALICE[:-1] + "9"]}):
        error = await site.marketplace.refused(f"{FIXED}_call_pair", **params)
        assert (error["code"], error["data"]["reason"]) == (400, "INVALID_ARGUMENT")
        assert error["data"]["field"].startswith("args")
    for params in ({"chain": "ethereum"}, {"address": known.PROBER}, {"cursor": "1"}):
        error = await site.marketplace.refused(f"{FIXED}_call_answer", **params)
        assert error["data"]["field"] == next(iter(params))
    assert await site.asked() == 0


@pytest.mark.parametrize("extra", [{}, {"from_": known.BOB}], ids=["folded", "with a sender"])
async def test_a_height_is_read_at_and_named(site: Site, extra: dict[str, Any]) -> None:
    first = load_world()["ethereum"].height
    data = await site.marketplace.call(f"{FIXED}_call_block_number", height=first + 3, **extra)
    assert (data["outputs"], data["blockHeight"]) == ([str(first + 3)], first + 3)
    data = await site.marketplace.call(f"{FIXED}_call_block_number", **extra)
    assert data["outputs"] == [str(data["blockHeight"])]
    for height, reason in ((first + 100_000, "NOT_FOUND"), (first - 1, "ARCHIVE_REQUIRED")):
        error = await site.marketplace.refused(f"{FIXED}_call_block_number", height=height, **extra)
        assert (error["data"]["reason"], error["data"]["field"]) == (reason, "height")


@pytest.mark.parametrize("extra", [{}, {"from_": known.BOB}], ids=["folded", "with a sender"])
async def test_a_revert_is_reported_with_its_reason(site: Site, extra: dict[str, Any]) -> None:
    error = await site.marketplace.refused(f"{FIXED}_call_fail_with_reason", args=["out of luck"], **extra)
    assert (error["code"], error["data"]["reason"]) == (400, "REVERTED")
    assert error["message"] == "execution reverted: out of luck"


@pytest.mark.parametrize("extra", [{}, {"from_": known.BOB}], ids=["folded", "with a sender"])
async def test_an_error_of_the_abi_is_reported_by_name(site: Site, extra: dict[str, Any]) -> None:
    error = await site.marketplace.refused(f"{FIXED}_call_fail_with_code", args=["77"], **extra)
    assert (error["code"], error["data"]["reason"]) == (400, "REVERTED")
    assert error["message"] == "execution reverted: Failed(code: 77)"


async def test_an_overloaded_name_is_refused(site: Site) -> None:
    error = await site.marketplace.refused(f"{FIXED}_call_twice", args=["1"])
    assert (error["code"], error["data"]["reason"]) == (400, "OVERLOADED")
    assert "twice" in error["message"]


@pytest.mark.parametrize("name", ["call_number2", "getLogs_number", "simulateCall_number", "call_Number"])
async def test_an_unpublished_name_is_not_found_and_the_nearest_is_named(site: Site, name: str) -> None:
    error = await site.marketplace.refused(f"{FIXED}_{name}")
    assert (error["code"], error["data"]["reason"]) == (404, "METHOD_UNKNOWN")
    assert f"{FIXED}_call_number" in error["message"]


@pytest.mark.parametrize(
    ("address", "what"),
    [
        (known.UNTOUCHED, "returns nothing"),
        (known.SILENT_CONTRACT, "returns nothing"),
        (known.GAS_BURNER, "execution reverted"),
        (known.REVERT_BOMBER, "execution reverted with custom error 0x00000000"),
    ],
)
async def test_a_contract_that_answers_otherwise_is_the_callers_choice(site: Site, address: str, what: str) -> None:
    error = await site.marketplace.refused(f"{TEMPLATE}_call_number", chain="ethereum", address=address)
    assert error["code"] == 400
    assert what in error["message"]
    assert error["data"].get("field") in ("address", None)


@pytest.mark.parametrize("extra", [{}, {"from_": known.ALICE, "value": "1"}], ids=["by nobody", "with a sender"])
@pytest.mark.parametrize("chain", ["ethereum", "arbitrum", "hyperliquid"])
@pytest.mark.parametrize(("name", "args"), [("simulateCall_touch", []), ("call_guard", ["1"])])
async def test_without_outputs_success_is_reported_only_of_a_contract(
    marketplace: Marketplace, name: str, args: list[Any], chain: str, extra: dict[str, Any]
) -> None:
    """Where no code is, every call succeeds and returns nothing, as a function without outputs does."""
    where = {"chain": chain, "address": known.UNTOUCHED, "args": args, **extra}
    error = await marketplace.refused(f"{TEMPLATE}_{name}", **where)
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "INVALID_ARGUMENT", "address")
    assert f"there is no contract at {known.UNTOUCHED} on {chain}" in error["message"]


@pytest.mark.parametrize("extra", [{}, {"from_": known.ALICE}], ids=["by nobody", "with a sender"])
@pytest.mark.parametrize("name", ["call_number", "call_guard", "simulateCall_deposit", "simulateCall_touch"])
async def test_a_precompile_is_no_contract_whatever_it_answers(
    marketplace: Marketplace, name: str, extra: dict[str, Any]
) -> None:
    """SHA-256 answers every call with a number."""
    where = {"chain": "ethereum", "address": f"0x{2:040x}", "args": ["1"] if name == "call_guard" else [], **extra}
    error = await marketplace.refused(f"{TEMPLATE}_{name}", **where)
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "INVALID_ARGUMENT", "address")
    assert "there is no contract at 0x0000000000000000000000000000000000000002 on ethereum" in error["message"]


async def test_a_contract_may_return_nothing(marketplace: Marketplace) -> None:
    where = {"chain": "ethereum", "address": known.SILENT_CONTRACT}
    data = await marketplace.call(f"{TEMPLATE}_simulateCall_touch", **where)
    assert (data["status"], data["outputs"]) == ("0x1", [])
    assert (await marketplace.call(f"{TEMPLATE}_call_guard", args=["1"], **where))["outputs"] == []


@pytest.mark.parametrize("name", ["simulateCall_touch", "call_guard"])
async def test_a_published_contract_that_is_not_there_does_nothing(marketplace: Marketplace, name: str) -> None:
    error = await marketplace.refused(f"svc_asker_ethereum_folded_{name}", height=26_050_001)
    assert (error["code"], error["data"]["reason"]) == (400, "NOT_SUPPORTED")
    assert f"there is no contract at {ASKER} on ethereum at block 26050001" in error["message"]


async def test_a_chain_of_another_family_is_refused(marketplace: Marketplace) -> None:
    error = await marketplace.refused(f"{TEMPLATE}_call_number", chain="solana", address=known.PROBER)
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "CHAIN_UNSUPPORTED", "chain")
    assert error["message"].startswith("this method does not exist on solana; it does on: ethereum, ")


async def test_data_that_does_not_decode_is_reported_apart(site: Site) -> None:
    """This token's name is bytes32, not a string."""
    error = await site.marketplace.refused("svc_erc20_erc20api_call_name", chain="ethereum", address=known.MKR)
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "INVALID_ARGUMENT", "address")
    assert "does not return what its ABI says" in error["message"]


async def test_hostile_return_data_costs_little(site: Site) -> None:
    """A million zeros: as a list of lists they are none; as a text they are empty."""
    where = {"chain": "ethereum", "address": known.RETURN_BOMBER}
    assert (await site.marketplace.call(f"{TEMPLATE}_call_listing", **where))["outputs"] == [[]]
    assert (await site.marketplace.call("svc_erc20_erc20api_call_name", **where))["outputs"] == [""]


async def test_a_simulation_takes_sender_value_and_height(site: Site) -> None:
    data = await site.marketplace.call(f"{FIXED}_simulateCall_deposit", from_=known.ALICE, value=str(10**18))
    assert (data["status"], data["outputs"], data["logs"]) == ("0x1", [str(10**18)], [])
    data = await site.marketplace.call(
        f"{FIXED}_simulateCall_say", args=["7", "hello"], from_=known.ALICE, height=26_050_002
    )
    assert (data["outputs"], data["blockHeight"]) == (["8"], 26_050_002)
    (log,) = data["logs"]
    assert log["address"] == known.PROBER
    assert log["topics"][1] == "0x" + known.ALICE[2:].lower().rjust(64, "0")
    assert int(data["gasUsed"]) > 21_000
    for height, reason in ((26_150_000, "NOT_FOUND"), (26_049_999, "ARCHIVE_REQUIRED")):
        error = await site.marketplace.refused(f"{FIXED}_simulateCall_deposit", height=height)
        assert (error["data"]["reason"], error["data"]["field"]) == (reason, "height")


async def test_a_simulated_failure_is_an_answer(site: Site) -> None:
    signature = "0x" + "00" * 65
    args = [known.BOB, "1", "0x", 0, 0, 0, 0, "0x" + "00" * 20, "0x" + "00" * 20, signature]
    name = "svc_multisigwallet_safe_simulateCall_execTransaction"
    data = await site.marketplace.call(name, chain="ethereum", address=places.SAFE, args=args, from_=known.BOB)
    assert (data["status"], data["outputs"], data["logs"]) == ("0x0", [], [])
    assert data["reason"].startswith("execution reverted: GS")
    assert int(data["gasUsed"]) > 21_000


async def test_a_sender_without_coin_is_refused(site: Site) -> None:
    error = await site.marketplace.refused(f"{FIXED}_simulateCall_deposit", from_=known.UNTOUCHED, value="1")
    assert (error["code"], error["data"]["reason"]) == (400, "REVERTED")
    assert "cannot pay" in error["message"]
