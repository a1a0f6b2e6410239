"""A chain's own JSON-RPC at `/<key>/rpc/<chain>`: what the node itself answers, on every family's local chain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from yarl import URL

from devnet import known, known_cosmos
from devnet.cosmos.world import CHAINS, address
from devnet.evm.calls import encode_arguments, encode_call
from devnet.evm.world import load_world
from tests.e2e.gateway import KEY

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

HEIGHT = hex(load_world()["ethereum"].height)


def path(chain: str, key: str = KEY) -> str:
    return f"/{key}/rpc/{chain}"


def item(method: str, params: Any = None, identity: Any = 1, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": [] if params is None else params, **more}


async def both(gateway: RunningGateway, devnet: Devnet, chain: str, body: Any) -> tuple[Any, Any]:
    """Return what the gateway and what the node answers to one body."""
    through = await gateway.post(body, path=path(chain))
    assert through.status == 200
    url = comet(devnet) if chain == "cosmoshub" else devnet.endpoints[chain]
    async with gateway.session.post(url, json=body) as response:
        # Some nodes state no content type of JSON.
        direct = json.loads(await response.read())
    return json.loads(await through.read()), direct


def comet(devnet: Devnet) -> str:
    """Return the CometBFT endpoint of a chain that has a REST gateway before it."""
    return next(one.url for one in devnet.kinds["cosmoshub"] if one.kind == "comet")


CALL = {"to": known.PROBER, "data": "0x" + encode_call("fail_with_code(uint256)", [77]).hex()}


@pytest.mark.parametrize(
    ("chain", "method", "params"),
    [
        ("ethereum", "eth_chainId", []),
        ("ethereum", "net_version", []),
        ("ethereum", "web3_clientVersion", []),
        ("ethereum", "eth_getBalance", [known.VITALIK, HEIGHT]),
        ("ethereum", "eth_getBalance", [known.VITALIK.lower(), HEIGHT]),
        ("ethereum", "eth_getCode", [known.PROBER, HEIGHT]),
        ("ethereum", "eth_getTransactionCount", [known.VITALIK, HEIGHT]),
        ("ethereum", "eth_getStorageAt", [known.PROBER, "0x0", HEIGHT]),
        ("ethereum", "eth_getBlockByNumber", [HEIGHT, True]),
        ("ethereum", "eth_getBlockByNumber", ["0xffffffff", False]),
        ("ethereum", "eth_getTransactionByHash", ["0x" + "12" * 32]),
        ("ethereum", "eth_getTransactionReceipt", ["0x" + "12" * 32]),
        ("ethereum", "eth_getLogs", [{"fromBlock": HEIGHT, "toBlock": HEIGHT}]),
        ("ethereum", "eth_feeHistory", ["0x2", HEIGHT, [25, 75]]),
        ("ethereum", "eth_getProof", [known.PROBER, ["0x0"], HEIGHT]),
        ("ethereum", "eth_estimateGas", [{"from": known.VITALIK, "to": known.PROBER, "value": "0x0"}, HEIGHT]),
        ("ethereum", "eth_call", [CALL, HEIGHT]),
        ("ethereum", "eth_estimateGas", [CALL, HEIGHT]),
        ("ethereum", "eth_getBalance", ["0x12"]),
        ("ethereum", "eth_getBalance", []),
        ("ethereum", "eth_getBlockByHash", ["0x1234", False]),
        ("solana", "getGenesisHash", []),
        ("solana", "getMinimumBalanceForRentExemption", [165]),
        ("solana", "getBlockTime", ["x"]),
        ("bitcoin", "getblockhash", [1]),
        ("bitcoin", "getblockhash", [10**6]),
        ("bitcoin", "getblock", ["00" * 32]),
        ("cosmoshub", "block", {"height": "1"}),
        ("cosmoshub", "block", ["1"]),
        ("cosmoshub", "block", {"height": "99999999"}),
    ],
)
async def test_an_answer_is_the_nodes(
    chain: str, method: str, params: Any, gateway: RunningGateway, devnet: Devnet
) -> None:
    through, direct = await both(gateway, devnet, chain, item(method, params))
    assert through == direct


async def test_a_batch_of_a_hundred_is_answered_in_order(gateway: RunningGateway, devnet: Devnet) -> None:
    reads = [item("eth_getBalance", ["0x" + f"{number:040x}", HEIGHT], number) for number in range(99)]
    through, direct = await both(gateway, devnet, "ethereum", [*reads, item("eth_call", [CALL, HEIGHT], "revert")])
    assert isinstance(through, list), through
    assert through == direct
    assert through[99]["id"] == "revert"
    assert through[99]["error"]["code"] == 3
    assert through[99]["error"]["data"].endswith(encode_arguments("Failed(uint256)", [77]).hex())


@pytest.mark.parametrize(
    "identity", ["0", "-1", "1.50", "1e3", "10000000000000000000000000", '"\\u0061"', '""', "null"]
)
async def test_an_id_comes_back_as_it_was_written(identity: str, gateway: RunningGateway) -> None:
    body = f'{{"id":{identity},"jsonrpc":"2.0","method":"eth_chainId"}}'
    for sent in (body, f"[{body}]"):
        answer = (await (await gateway.post(sent.encode(), path=path("ethereum"))).read()).decode()
        assert answer.strip("[]") == f'{{"jsonrpc":"2.0","id":{identity},"result":"0x1"}}'


ALICE, BOB = (address(CHAINS["cosmoshub"], name) for name in (known_cosmos.ALICE, known_cosmos.BOB))
BANK, STAKING = "/cosmos/bank/v1beta1", "/cosmos/staking/v1beta1"


@pytest.mark.parametrize(
    "target",
    [
        "/cosmos/base/tendermint/v1beta1/node_info",
        "/cosmos/base/tendermint/v1beta1/blocks/latest",
        f"{BANK}/balances/{ALICE}?pagination.limit=1&pagination.countTotal=True",
        f"{BANK}/balances/{ALICE}/by_denom?denom=uatom",
        f"{BANK}/balances/nobody",
        f"{BANK}/balances/{ALICE}/by_denom",
        f"{BANK}/denoms_metadata/ibc/ABC",
        f"{BANK}/denoms_metadata/ibc%2FABC",
        f"{STAKING}/validators?status=BOND_STATUS_BONDED&pagination.limit=2",
        f"{STAKING}/delegations/{BOB}",
        f"/cosmos/auth/v1beta1/accounts/{ALICE}",
        f"/cosmos/tx/v1beta1/txs/{'AB' * 32}",
        "/cosmos/tx/v1beta1/txs/nothing",
        "/cosmos/mint/v1beta1/inflation",
    ],
)
async def test_a_path_is_answered_as_the_rest_gateway_does(
    target: str, gateway: RunningGateway, devnet: Devnet
) -> None:
    through = await gateway.session.get(URL(gateway.http + path("cosmoshub") + target, encoded=True))
    direct = await gateway.session.get(URL(devnet.endpoints["cosmoshub"] + target, encoded=True))
    assert (through.status, await through.json()) == (direct.status, await direct.json())
    assert through.headers["X-Waypost-Cost"] == "1"


@pytest.mark.parametrize(
    ("chain", "target", "status", "code", "words"),
    [
        ("cosmoshub", "/cosmos/tx/v1beta1/txs?query=x", 501, 12, "not passed on"),
        ("cosmoshub", "/cosmos/gov/v1/proposals", 501, 12, "not passed on"),
        ("cosmoshub", f"{BANK}/balances/{ALICE}/../x", 501, 12, "not passed on"),
        ("cosmoshub", f"{BANK}/supply?pagination.limit=101", 400, 3, "at most 100"),
        ("cosmoshub", f"{BANK}/supply?pagination.limit=x", 400, 3, "at most 100"),
        ("cosmoshub", f"{BANK}/supply?pagination.limit=1&pagination.limit=999", 400, 3, "twice"),
        ("cosmoshub", f"{BANK}/supply?height=1", 400, 3, "`height` is not passed on"),
        ("cosmoshub", f"{BANK}/balances/%ff", 400, 3, "UTF-8"),
        ("cosmoshub", f"{BANK}/supply?pagination.key={'a' * 600}", 400, 3, "512"),
        ("ethereum", f"{BANK}/supply", 501, 12, "no REST gateway"),
        ("nowhere", f"{BANK}/supply", 404, 5, "nowhere"),
    ],
)
async def test_other_paths_are_refused_in_the_gateways_own_form(
    chain: str, target: str, status: int, code: int, words: str, gateway: RunningGateway
) -> None:
    response = await gateway.session.get(URL(gateway.http + path(chain) + target, encoded=True))
    answer = await response.json()
    assert (response.status, answer["code"]) == (status, code)
    assert words in answer["message"]
    [detail] = answer["details"]
    assert detail["domain"] == "waypost"
    assert detail["metadata"]["requestId"] == response.headers["X-Request-Id"]


async def test_a_transcoder_of_its_own_answers_alike(gateway: RunningGateway) -> None:
    assert gateway.behind_socket
    batch = [item("eth_chainId"), item("eth_call", [CALL, HEIGHT], 2), item("eth_newFilter", [{}], 3)]
    for sent in (batch, batch[0], batch[1]):
        one = await gateway.session.post(gateway.http + path("ethereum"), json=sent)
        other = await gateway.session.post(gateway.behind_socket + path("ethereum"), json=sent)
        first, second = await one.json(), await other.json()
        for answer in (first[2], second[2]) if sent is batch else ():
            assert answer["error"]["data"].pop("requestId")
        assert (one.status, first) == (other.status, second)
