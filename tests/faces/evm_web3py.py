"""web3.py on the gateway as on the node, with and without an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3
from web3.exceptions import MethodUnavailable, Web3Exception
from web3.middleware import LocalFilterMiddleware

from tests.each import each
from tests.faces.beside import CHAINS, KNOWN, outcome, outcome_of, pair

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

FACTS = KNOWN["ethereum"]
HOLDER, ALICE, USDC = FACTS["holder"], FACTS["alice"], FACTS["usdc"]
FIRST, CROWDED = FACTS["first"], FACTS["crowded"]
UNKNOWN = "0x" + "ab" * 32
FUTURE = 10**9
TOKEN: list[dict[str, Any]] = [
    {
        "type": "function",
        "name": "balanceOf",
        "stateMutability": "view",
        "inputs": [{"name": "owner", "type": "address"}],
        "outputs": [{"name": "", "type": "uint256"}],
    },
    {
        "type": "function",
        "name": "transfer",
        "stateMutability": "nonpayable",
        "inputs": [{"name": "to", "type": "address"}, {"name": "value", "type": "uint256"}],
        "outputs": [{"name": "", "type": "bool"}],
    },
    {
        "type": "event",
        "name": "Transfer",
        "anonymous": False,
        "inputs": [
            {"name": "from", "type": "address", "indexed": True},
            {"name": "to", "type": "address", "indexed": True},
            {"name": "value", "type": "uint256", "indexed": False},
        ],
    },
]
PROBER: list[dict[str, Any]] = [
    {"type": "function", "name": name, "stateMutability": "view", "inputs": inputs, "outputs": []}
    for name, inputs in {
        "fail_with_code": [{"name": "code", "type": "uint256"}],
        "fail_with_reason": [{"name": "text", "type": "string"}],
        "fail_with_panic": [],
        "fail_silently": [],
    }.items()
] + [{"type": "error", "name": "Failed", "inputs": [{"name": "code", "type": "uint256"}]}]

SYNC = pair("ethereum", lambda url: Web3(HTTPProvider(url, exception_retry_configuration=None)))


def token(w3: Any) -> Any:
    return w3.eth.contract(address=USDC, abi=TOKEN)


def wrapped(w3: Any) -> Any:
    return w3.eth.contract(address=FACTS["weth"], abi=TOKEN)


def prober(w3: Any) -> Any:
    return w3.eth.contract(address=FACTS["prober"], abi=PROBER)


def first_hash(w3: Any) -> Any:
    return w3.eth.get_block(CROWDED)["transactions"][0]


# The same words read with an event loop: each returns a value, or what is awaited for it.
READS: dict[str, Callable[[Any], Any]] = {
    "balance": lambda w3: w3.eth.get_balance(HOLDER),
    "balance at a block": lambda w3: w3.eth.get_balance(HOLDER, FIRST),
    "transaction count": lambda w3: w3.eth.get_transaction_count(ALICE),
    "code": lambda w3: w3.eth.get_code(USDC),
    "storage": lambda w3: w3.eth.get_storage_at(USDC, 0),
    "fee history": lambda w3: w3.eth.fee_history(4, "latest", [25, 75]),
    "block": lambda w3: w3.eth.get_block(CROWDED),
    "block with transactions": lambda w3: w3.eth.get_block(CROWDED, True),
    "block finalized": lambda w3: w3.eth.get_block("finalized"),
    "receipts of a block": lambda w3: w3.eth.get_block_receipts(CROWDED),
    "transactions of a block": lambda w3: w3.eth.get_block_transaction_count(CROWDED),
    "transaction of a block": lambda w3: w3.eth.get_transaction_by_block(CROWDED, 0),
    "call": lambda w3: w3.eth.call({"to": USDC, "data": "0x18160ddd"}, FIRST),
    "call with state override": lambda w3: w3.eth.call(
        {"from": FACTS["untouched"], "to": ALICE, "value": 5}, "latest", {FACTS["untouched"]: {"balance": hex(10**20)}}
    ),
    "gas": lambda w3: w3.eth.estimate_gas({"from": HOLDER, "to": ALICE, "value": 1}),
    "logs": lambda w3: w3.eth.get_logs({"address": FACTS["weth"], "fromBlock": CROWDED, "toBlock": CROWDED}),
    "contract": lambda w3: token(w3).functions.balanceOf(HOLDER).call(),
    "contract at a block": lambda w3: token(w3).functions.balanceOf(HOLDER).call(block_identifier=FIRST),
    "events of a contract": lambda w3: wrapped(w3).events.Transfer().get_logs(from_block=CROWDED, to_block=CROWDED),
    "events of a contract by member": lambda w3: (
        token(w3).events.Transfer().get_logs(from_block=FIRST, to_block=FIRST + 20, argument_filters={"to": HOLDER})
    ),
    "gas of a contract's function": lambda w3: token(w3).functions.transfer(ALICE, 1).estimate_gas({"from": HOLDER}),
    "address of a name": lambda w3: w3.ens.address("vitalik.eth"),
    "name of an address": lambda w3: w3.ens.name(HOLDER),
    "address of a name that is not there": lambda w3: w3.ens.address("nobody-has-this.eth"),
}
FAILING: dict[str, Callable[[Any], Any]] = {
    "a contract's own error": lambda w3: prober(w3).functions.fail_with_code(42).call(),
    "a reason": lambda w3: prober(w3).functions.fail_with_reason("no such luck").call(),
    "a panic": lambda w3: prober(w3).functions.fail_with_panic().call(),
    "no words at all": lambda w3: prober(w3).functions.fail_silently().call(),
    "gas of what reverts": lambda w3: prober(w3).functions.fail_with_code(42).estimate_gas(),
    "more than there is": lambda w3: token(w3).functions.transfer(ALICE, 2**200).call({"from": FACTS["untouched"]}),
    "a block of the future": lambda w3: w3.eth.get_block(FUTURE),
    "an unknown transaction": lambda w3: w3.eth.get_transaction(UNKNOWN),
    "an unknown receipt": lambda w3: w3.eth.get_transaction_receipt(UNKNOWN),
    "a balance of a block of the future": lambda w3: w3.eth.get_balance(HOLDER, FUTURE),
    "no contract": lambda w3: w3.eth.contract(address=FACTS["untouched"], abi=TOKEN).functions.balanceOf(HOLDER).call(),
}


@pytest.fixture
async def loops() -> AsyncIterator[tuple[Any, Any]]:
    """The clients with an event loop: on the node, on the gateway."""
    clients = pair("ethereum", lambda url: AsyncWeb3(AsyncHTTPProvider(url, exception_retry_configuration=None)))
    yield clients
    for client in clients:
        await client.provider.disconnect()


@each(READS)
def test_a_read_gives_what_the_node_gives(name: str) -> None:
    node, gateway = SYNC
    expected = outcome(READS[name], node)
    assert expected.error is None
    assert outcome(READS[name], gateway) == expected


@each(FAILING)
def test_a_read_fails_as_on_the_node(name: str) -> None:
    node, gateway = SYNC
    expected = outcome(FAILING[name], node)
    assert expected.error is not None
    assert outcome(FAILING[name], gateway) == expected


@each(READS)
async def test_the_same_with_an_event_loop(name: str, loops: tuple[Any, Any]) -> None:
    node, gateway = loops
    expected = await outcome_of(READS[name], node)
    assert expected.error is None
    assert await outcome_of(READS[name], gateway) == expected


@each(FAILING)
async def test_failures_are_the_same_with_an_event_loop(name: str, loops: tuple[Any, Any]) -> None:
    node, gateway = loops
    expected = await outcome_of(FAILING[name], node)
    assert expected.error is not None
    assert await outcome_of(FAILING[name], gateway) == expected


def test_what_is_a_property_of_the_client() -> None:
    def read(w3: Any) -> Any:
        fees = (w3.eth.gas_price, w3.eth.max_priority_fee, w3.eth.blob_base_fee)
        return w3.is_connected(), w3.eth.chain_id, w3.eth.block_number, w3.eth.syncing, w3.net.version, fees

    node, gateway = SYNC
    assert read(gateway) == read(node)
    assert gateway.client_version


def test_proofs() -> None:
    """Of a place that is written with an even number of digits: the client sends it as it is given."""
    node, gateway = SYNC
    assert gateway.eth.get_proof(USDC, ["0x" + "00" * 32]) == node.eth.get_proof(USDC, ["0x" + "00" * 32])


def test_transactions_by_hash() -> None:
    def read(w3: Any) -> Any:
        found = first_hash(w3)
        return (
            w3.eth.get_transaction(found),
            w3.eth.get_transaction_receipt(found),
            w3.eth.wait_for_transaction_receipt(found, timeout=5),
            w3.eth.get_block(w3.eth.get_block(CROWDED)["hash"]),
            w3.eth.get_balance(HOLDER, w3.eth.get_block(CROWDED)["hash"]),
            w3.eth.get_logs({"blockHash": w3.eth.get_block(CROWDED)["hash"]}),
        )

    node, gateway = SYNC
    assert read(gateway) == read(node)


def test_batches() -> None:
    def read(w3: Any) -> Any:
        with w3.batch_requests() as batch:
            batch.add(w3.eth.get_balance(HOLDER))
            batch.add(w3.eth.get_block(FIRST))
            for block in range(FIRST, FIRST + 20):
                batch.add(token(w3).functions.balanceOf(HOLDER).call(block_identifier=block))
            return batch.execute()

    node, gateway = SYNC
    assert read(gateway) == read(node)


async def test_batches_with_an_event_loop(loops: tuple[Any, Any]) -> None:
    async def read(w3: Any) -> Any:
        async with w3.batch_requests() as batch:
            batch.add(w3.eth.get_balance(HOLDER))
            batch.add(w3.eth.get_block(FIRST))
            return await batch.async_execute()

    node, gateway = loops
    assert await read(gateway) == await read(node)


def test_filters_live_in_the_program() -> None:
    gateway = Web3(HTTPProvider(CHAINS["ethereum"]["gateway"]["http"]))
    with pytest.raises(MethodUnavailable, match="eth_newBlockFilter"):
        gateway.eth.filter("latest")
    gateway.middleware_onion.add(LocalFilterMiddleware)
    events = wrapped(gateway).events.Transfer.create_filter(from_block=CROWDED, to_block=CROWDED)
    assert len(events.get_all_entries()) == FACTS["crowd"]
    blocks = gateway.eth.filter("latest")
    SYNC[0].provider.make_request("evm_mine", [])
    head = SYNC[0].eth.get_block("latest")["hash"]
    found: list[Any] = []
    while head not in found:
        found += blocks.get_new_entries()


def test_what_writes_is_refused() -> None:
    gateway = SYNC[1]
    with pytest.raises(Web3Exception, match="eth_sendRawTransaction"):
        gateway.eth.send_raw_transaction("0x02")
