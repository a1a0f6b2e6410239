"""Cosmos operations as JSON-RPC callers see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address, operator
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.server.chains.cosmos.conftest import settings_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.cosmos.process import CosmosChains

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
ALICE, BOB = address(HUB, known.ALICE), address(HUB, known.BOB)
STAKED = HUB.first + known.STAKED_AT


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gateway(model: CosmosChains, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    chains = {
        slug: {"endpoints": [{"label": one.label, "url": one.url, "kind": one.kind} for one in endpoints]}
        for slug, endpoints in model.endpoints.items()
    }
    assert set(settings_of(model).chains) == set(chains)
    async with run_gateway_on(chains, tmp_path_factory.mktemp("gateway")) as running:
        yield running


async def data(gateway: RunningGateway, method: str, params: Any) -> Any:
    answer = await gateway.ask(method, params)
    assert "error" not in answer, answer
    return answer["result"]["data"]


async def refusal(gateway: RunningGateway, method: str, params: Any) -> dict[str, Any]:
    error: dict[str, Any] = (await gateway.ask(method, params))["error"]
    return error


async def test_shapes_of_the_contract(gateway: RunningGateway) -> None:
    hub = {"chain": "cosmoshub"}
    health = await data(gateway, "getChainHealth", hub)
    assert (health["status"], health["type"]) == ("ok", "Cosmos SDK")
    height = await data(gateway, "getBlockHeight", hub)
    assert height == {"chain": "cosmoshub", "height": height["height"]}
    balance = await data(gateway, "getTokenBalance", hub | {"address": BOB, "token": "uatom"})
    assert balance == hub | {
        "address": BOB,
        "token": "uatom",
        "balance": "1.5",
        "balanceRaw": "1500000",
        "decimals": 6,
    }
    ibc = await data(gateway, "getTokenBalance", hub | {"address": ALICE, "token": known.IBC_DENOM})
    assert (ibc["balance"], ibc["balanceRaw"], ibc["decimals"]) == ("77000000", "77000000", None)
    then = hub | {"address": BOB, "token": "uatom", "blockHeight": HUB.first}
    assert (await data(gateway, "getTokenBalance", then))["balanceRaw"] == "0"
    supply = await data(gateway, "getDenomSupply", hub | {"denom": known.IBC_DENOM})
    assert supply["amount"] == {"denom": known.IBC_DENOM, "amount": str(known.IBC_HELD)}
    metadata = await data(gateway, "getTokenMetadata", hub | {"address": "uatom"})
    units = metadata["metadata"]["denom_units"]
    assert units[0] == {"denom": "uatom", "exponent": 0, "aliases": ["microatom"]}
    assert units[1] == {"denom": "atom", "exponent": 6, "aliases": []}
    assert (metadata["metadata"]["uri"], metadata["metadata"]["uri_hash"]) == ("", "")
    account = await data(gateway, "getAccount", hub | {"address": BOB})
    assert account["account"] == {
        "@type": "/cosmos.auth.v1beta1.BaseAccount",
        "address": BOB,
        "pub_key": None,
        "account_number": "4",
        "sequence": "0",
    }
    assert len((await data(gateway, "getDelegations", hub | {"delegator": ALICE}))["delegation_responses"]) == 2
    unbonding = await data(gateway, "getUnbondingDelegations", hub | {"delegator": ALICE})
    [entry] = unbonding["unbonding_responses"][0]["entries"]
    assert entry["balance"] == str(known.UNDELEGATED)
    assert (entry["unbonding_id"], entry["unbonding_on_hold_ref_count"]) == ("1", "0")
    assert (await data(gateway, "getRewards", hub | {"delegator": ALICE}))["total"][0]["denom"] == "uatom"
    validators = await data(gateway, "getValidators", hub | {"status": "bonded"})
    assert (validators["count"], validators["validators"][0]["status"]) == (3, "BOND_STATUS_BONDED")
    for status in ("all", "BOND_STATUS_ALL"):
        every = await data(gateway, "getValidators", hub | {"status": status})
        assert every["count"] == len(every["validators"]) == 4
        stakes = [int(validator["tokens"]) for validator in every["validators"]]
        assert stakes == sorted(stakes, reverse=True)
        assert {validator["status"] for validator in every["validators"]} == {
            "BOND_STATUS_BONDED",
            "BOND_STATUS_UNBONDED",
        }
    one = await data(gateway, "getValidator", hub | {"validator": operator(HUB, 1)})
    assert one["validator"] == validators["validators"][0]
    assert set((await data(gateway, "getStakingPool", hub))["pool"]) == {"not_bonded_tokens", "bonded_tokens"}


async def test_blocks_and_transactions(gateway: RunningGateway) -> None:
    hub = {"chain": "cosmoshub"}
    rows = (await data(gateway, "getBlockByNumber", [hub | {"block": STAKED}, {"chain": "noble", "block": 1}]))[
        "results"
    ]
    block = rows[0]["block"]
    assert block["number"] == str(STAKED)
    assert block["block"]["header"]["height"] == str(STAKED)
    assert rows[1]["error"]["reason"] == "ARCHIVE_REQUIRED"
    again = (await data(gateway, "getBlockByHash", [hub | {"hash": block["hash"]}]))["results"][0]
    assert again["block"]["number"] == str(STAKED)
    listed = await data(gateway, "getBlockTransactions", hub | {"blockNumber": STAKED})
    assert listed["transactionCount"] == 3
    txhash = listed["transactions"][0]["txhash"]
    receipt = await data(gateway, "getReceipt", hub | {"hash": txhash})
    assert receipt["tx"]["body"]["messages"][0]["@type"] == "/cosmos.staking.v1beta1.MsgDelegate"
    assert receipt["tx_response"]["txhash"] == txhash
    [row] = (await data(gateway, "getTransactionByHash", [hub | {"hash": txhash}]))["results"]
    assert (row["transaction"]["blockNumber"], row["transaction"]["from"]) == (str(STAKED), ALICE)
    results = await data(gateway, "getBlockResults", hub | {"blockNumber": STAKED})
    assert [one["code"] for one in results["txs_results"]] == [0, known.UNDECODABLE, 0]
    status = await data(gateway, "chainRpc", hub | {"method": "status"})
    assert status["result"]["node_info"]["network"] == "cosmoshub-4"


@pytest.mark.parametrize(
    ("method", "params", "code", "reason"),
    [
        ("getAccount", {"chain": "osmosis", "address": BOB}, 400, "INVALID_ARGUMENT"),
        ("getAccount", {"chain": "cosmoshub", "address": address(HUB, known.UNTOUCHED)}, 404, "NOT_FOUND"),
        ("getAccount", {"chain": "ethereum", "address": BOB}, 400, "CHAIN_UNSUPPORTED"),
        ("getDelegations", {"chain": "cosmoshub", "delegator": operator(HUB, 1)}, 400, "INVALID_ARGUMENT"),
        ("getValidator", {"chain": "cosmoshub", "validator": BOB}, 400, "INVALID_ARGUMENT"),
        (
            "getRewards",
            {"chain": "noble", "delegator": address(CHAINS["noble"], known.ALICE)},
            400,
            "NOT_SUPPORTED",
        ),
        ("getDenomSupply", {"chain": "cosmoshub", "denom": "ibc/12"}, 400, "INVALID_ARGUMENT"),
        ("getTokenMetadata", {"chain": "cosmoshub", "address": known.IBC_DENOM}, 404, "NOT_FOUND"),
        ("getReceipt", {"chain": "cosmoshub", "hash": "12"}, 400, "INVALID_ARGUMENT"),
        ("getReceipt", {"chain": "cosmoshub", "hash": "ab" * 32}, 404, "NOT_FOUND"),
        ("getBalance", {"chain": "cosmoshub", "address": BOB}, 400, "CHAIN_UNSUPPORTED"),
        ("chainRpc", {"chain": "cosmoshub", "method": "broadcast_tx_sync"}, 400, "INVALID_ARGUMENT"),
    ],
)
async def test_refusals(gateway: RunningGateway, method: str, params: Any, code: int, reason: str) -> None:
    error = await refusal(gateway, method, params)
    assert (error["code"], error["data"]["reason"]) == (code, reason), error
