"""The contracts that a reader must not trip over behave as badly as they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from web3 import AsyncHTTPProvider, AsyncWeb3

from devnet import known
from devnet.evm.calls import encode_call
from devnet.local_chain import NodeError
from tests.e2e.devnet_reads import aggregate3, call_raw, read

if TYPE_CHECKING:
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"  # EIP-1967
BALANCE = "balanceOf(address)"


async def test_usdc_is_a_proxy(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    word = await node.call("eth_getStorageAt", node.chain.token("USDC").address, IMPLEMENTATION_SLOT, "latest")
    assert int(word, 16) == int(known.TOKEN_IMPLEMENTATION, 16)


async def test_mkr_answers_bytes32(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    assert await call_raw(node, known.MKR, encode_call("symbol()")) == b"MKR".ljust(32, b"\0")
    assert await call_raw(node, known.MKR, encode_call("name()")) == b"Maker".ljust(32, b"\0")
    assert await read(node, known.MKR, BALANCE, [known.VITALIK], "uint256") == known.ODD_BALANCE


async def test_optional_members_are_missing(devnet: Devnet) -> None:
    node = devnet.nodes["polygon"]
    for token, missing in ((known.NAMELESS_TOKEN, "symbol()"), (known.WHOLE_TOKEN, "decimals()")):
        with pytest.raises(NodeError, match="revert"):
            await call_raw(node, token, encode_call(missing))
        assert await read(node, token, BALANCE, [known.VITALIK], "uint256") == known.ODD_BALANCE
    assert await read(node, known.UNICODE_TOKEN, "symbol()", [], "string") == "USD₮0"


async def test_usdt_returns_nothing(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    usdt = node.chain.token("USDT").address
    assert await call_raw(node, usdt, encode_call("approve(address,uint256)", [known.BOB, 5])) == b""


async def test_a_token_disappears(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    last = node.chain.height + known.DESTROYED_AFTER
    assert await read(node, known.DESTROYED_TOKEN, "symbol()", [], "string", last) == "GONE"
    assert await call_raw(node, known.DESTROYED_TOKEN, encode_call("symbol()"), last + 1) == b""
    assert await node.call("eth_getCode", known.DESTROYED_TOKEN, "latest") == "0x"


async def test_hostile_token_changes_what_the_next_read_sees(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    weth, ask = node.chain.wrapped_native.address, encode_call(BALANCE, [known.VITALIK])
    alone = await read(node, weth, BALANCE, [known.VITALIK], "uint256")
    answers = await aggregate3(node, known.MULTICALL3, [(weth, ask), (known.HOSTILE_TOKEN, ask), (weth, ask)])
    before, hostile, after = (int.from_bytes(data, "big") for _, data in answers)
    assert (before, hostile, after) == (alone, known.HOSTILE_BALANCE, alone + 10**18)
    assert await read(node, weth, BALANCE, [known.VITALIK], "uint256") == alone


async def test_bad_neighbours_of_a_multicall(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    ask = encode_call(BALANCE, [known.VITALIK])
    expected = {
        known.REVERT_BOMBER: (False, 10**6),
        known.RETURN_BOMBER: (True, 10**6),
        known.SILENT_CONTRACT: (True, 0),
        known.PROBER: (False, 0),
    }
    for address, outcome in expected.items():
        [(success, data)] = await aggregate3(node, known.MULTICALL3, [(address, ask)])
        assert (success, len(data)) == outcome
    with pytest.raises(NodeError, match=r"OOG|[Gg]as"):  # two of them are more than one execution can hold
        await aggregate3(node, known.MULTICALL3, [(known.REVERT_BOMBER, ask), (known.RETURN_BOMBER, ask)])
    with pytest.raises(NodeError, match=r"[Gg]as"):
        await call_raw(node, known.GAS_BURNER, ask)


async def test_prober_fails_in_each_way(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    assert await read(node, known.PROBER, "answer()", [], "uint256") == 42
    with pytest.raises(NodeError, match="no luck"):
        await call_raw(node, known.PROBER, encode_call("fail_with_reason(string)", ["no luck"]))
    custom = encode_call("Failed(uint256)", [9]).hex()
    with pytest.raises(NodeError, match=custom):
        await call_raw(node, known.PROBER, encode_call("fail_with_code(uint256)", [9]))
    with pytest.raises(NodeError, match=encode_call("Panic(uint256)", [17]).hex()):
        await call_raw(node, known.PROBER, encode_call("fail_with_panic()"))
    with pytest.raises(NodeError):
        await call_raw(node, known.PROBER, encode_call("fail_silently()"))


async def test_delegated_account_runs_its_delegate(devnet: Devnet) -> None:
    node = devnet.nodes["polygon"]
    assert await node.call("eth_getCode", known.DELEGATED, "latest") == "0xef0100" + known.PROBER[2:].lower()
    assert await read(node, known.DELEGATED, "answer()", [], "uint256") == 42


async def test_arbitrum_contracts_see_another_number_than_arb_sys(devnet: Devnet) -> None:
    node = devnet.nodes["arbitrum"]
    height = int(await node.call("eth_blockNumber"), 16)
    assert await read(node, known.ARB_SYS, "arbBlockNumber()", [], "uint256") == height
    seen = await read(node, known.MULTICALL3, "getBlockNumber()", [], "uint256")
    assert seen == node.chain.parent_number != height
    ordinary = devnet.nodes["polygon"]
    height = int(await ordinary.call("eth_blockNumber"), 16)
    assert await read(ordinary, known.MULTICALL3, "getBlockNumber()", [], "uint256") == height
    assert await ordinary.call("eth_getCode", known.ARB_SYS, "latest") == "0x"


async def test_an_independent_client_agrees(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    client = AsyncWeb3(AsyncHTTPProvider(node.url))
    usdc = node.chain.token("USDC")
    abi = [
        {"type": "function", "name": "balanceOf", "stateMutability": "view"}
        | {"inputs": [{"name": "", "type": "address"}], "outputs": [{"name": "", "type": "uint256"}]}
    ]
    try:
        contract = client.eth.contract(address=client.to_checksum_address(usdc.address), abi=abi)
        assert await contract.functions.balanceOf(known.VITALIK).call() == 12_445_928_901
        assert await client.eth.get_balance(client.to_checksum_address(known.VITALIK)) == known.NATIVE_AT_HEAD
        block = await client.eth.get_block("latest", full_transactions=True)
        assert block["number"] >= node.chain.height + known.SEEDED_BLOCKS
    finally:
        await client.provider.disconnect()
