"""Every published method of every app, over both faces, against web3's contract object on the node itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet import known_marketplace as places
from devnet.evm.world import load_world
from tests.rewinding import rewound
from tests.server.marketplace.conftest import METHODS, Marketplace

if TYPE_CHECKING:
    from server.marketplace.catalogue import PublishedMethod

pytestmark = pytest.mark.devnet

WORLD = load_world()
DAI = WORLD["ethereum"].token("DAI").address
NATIVE = "0x" + "00" * 20
NUMBER = 123_456_789_012_345_678_901

# What templates are tried on: where they are given a contract, by app.
CONTRACTS = {"erc20": [DAI], "erc721api": [places.COLLECTION], "multisigwallet": [places.SAFE, places.OLD_SAFE]}
SAFE_TRANSACTION = [known.BOB, 7, "0x1234", 0, 1, 2, 3, NATIVE, known.ALICE]


def arguments(method: PublishedMethod) -> list[Any]:
    """Return arguments for a function: by its name, or one number for a conversion."""
    owner = known.ALICE if method.app.app_id == "erc20" else known.DEVELOPER
    first, second = [token.address for token in WORLD[method.deployment.chain or "ethereum"].tokens[:2]]
    by_name: dict[str, list[Any]] = {
        "balanceOf": [owner],
        "allowance": [owner, known.BOB],
        "tokenURI": [1],
        "ownerOf": [2],
        "getApproved": [1],
        "isApprovedForAll": [known.DEVELOPER, known.ALICE],
        "sharesOf": [known.DEVELOPER],
        "getRate": [first, second, False],
        "getRateToEth": [second, True],
        "getTransactionHash": [*SAFE_TRANSACTION, 5],
        "execTransaction": [
            *SAFE_TRANSACTION[:2],
            "0x",
            0,
            0,
            0,
            0,
            NATIVE,
            NATIVE,
            "0x" + known.DEVELOPER[2:].rjust(64, "0") + "00" * 32 + "01",
        ],
    }
    given = by_name.get(method.abi_name)
    return given if given is not None else [NUMBER] * len(method.abi_item["inputs"])


def written(value: Any) -> Any:
    """Return a value of web3 as the contract says it is written in JSON."""
    if isinstance(value, list | tuple):
        return [written(inner) for inner in value]
    if isinstance(value, bytes):
        return "0x" + bytes(value).hex()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def places_of(method: PublishedMethod) -> list[tuple[str, str, dict[str, str]]]:
    """Return chain, address and the parameters that name them, for each contract that the method is tried on."""
    if method.deployment.chain is not None and method.deployment.address is not None:
        return [(method.deployment.chain, method.deployment.address, {})]
    found = CONTRACTS[method.app.app_id]
    return [("ethereum", address, {"chain": "ethereum", "address": address}) for address in found]


def test_all_133_methods_are_tried() -> None:
    assert len(METHODS) == 133
    assert {method.operation for method in METHODS.values()} == {"call", "simulateCall", "getLogs"}


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.operation == "call"])
async def test_a_read_answers_what_web3_reads(name: str, marketplace: Marketplace) -> None:
    method = METHODS[name]
    args = arguments(method)
    for chain, address, where in places_of(method):
        data = await marketplace.call(name, args=args, **where)
        contract = marketplace.contract(chain, address, [method.abi_item])
        expected = await contract.functions[method.abi_name](*args).call(block_identifier=data["blockHeight"])
        outputs = method.abi_item["outputs"]
        assert data["outputs"] == written(list(expected) if len(outputs) > 1 else [expected])
        assert data["outputs"] != ["0"] * len(outputs), "an answer of nothing proves nothing"
        assert (data["chain"], data["address"]) == (chain, address)
        assert (data["method"], data["abiName"], data["abiType"]) == (name, method.abi_name, "function")
        assert (data["deploymentName"], data["operation"]) == (method.deployment.name, "call")


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.operation == "getLogs"])
async def test_events_are_what_web3_decodes(name: str, marketplace: Marketplace) -> None:
    method = METHODS[name]
    for chain, address, where in places_of(method):
        data = await marketplace.call(name, **where)
        # web3 refuses logs of another form than the one it is given: the Safe of 1.4.1 indexes what 1.3.0 does not.
        (item,) = method.variants if address == places.SAFE else (method.abi_item,)
        contract = marketplace.contract(chain, address, [item])
        found = await contract.events[method.abi_name]().get_logs(from_block=WORLD[chain].height)
        expected = [
            (log["blockNumber"], log["logIndex"], written(list(log["args"].values())), log["transactionHash"])
            for log in found
        ]
        expected.sort(reverse=True)
        assert expected
        assert [(log["blockNumber"], log["logIndex"]) for log in data["logs"]] == [one[:2] for one in expected]
        assert [log["args"] for log in data["logs"]] == [one[2] for one in expected]
        assert [log["transactionHash"] for log in data["logs"]] == [one[3].to_0x_hex() for one in expected]
        assert {log["address"] for log in data["logs"]} == {address}
        assert (data["count"], data["limit"], data["hasMore"], data["cursor"]) == (len(expected), 100, False, None)
        assert (data["abiType"], data["operation"]) == ("event", "getLogs")


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.operation == "simulateCall"])
@pytest.mark.parametrize("safe", [places.SAFE, places.OLD_SAFE])
async def test_a_simulation_tells_what_the_transaction_then_does(
    name: str, safe: str, marketplace: Marketplace
) -> None:
    method, node = METHODS[name], marketplace.devnet.nodes["ethereum"]
    args = arguments(method)
    async with rewound(node):
        await node.call("anvil_setBalance", safe, hex(1000))
        data = await marketplace.call(name, chain="ethereum", address=safe, args=args, from_=known.DEVELOPER)
        contract = marketplace.contract("ethereum", safe, [method.abi_item])
        function = contract.functions[method.abi_name](*args)
        assert data["outputs"] == written([await function.call({"from": known.DEVELOPER})]) == [True]
        sent = {"from": known.DEVELOPER, "to": safe, "data": function._encode_transaction_data(), "gas": hex(500_000)}
        tx = await node.call("eth_sendTransaction", sent)
        await node.call("evm_mine")
        receipt = await node.call("eth_getTransactionReceipt", tx)
    assert receipt["status"] == data["status"] == "0x1"
    assert int(receipt["gasUsed"], 16) == int(data["gasUsed"])
    logs = [
        {"address": log["address"].lower(), "topics": log["topics"], "data": log["data"]} for log in receipt["logs"]
    ]
    assert [{**log, "address": log["address"].lower()} for log in data["logs"]] == logs
    assert len(logs) == 1
    assert not {"reason", "logsAvailable", "gasUsedAvailable"} & set(data)
