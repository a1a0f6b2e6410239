"""How fast logs are read by cursor over a busy range, beside the bare node's one answer for the same range."""

from __future__ import annotations

import time
from typing import Any

import aiohttp
import orjson
from eth_abi.abi import encode

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.world import load_world

_CHAIN = "ethereum"
_WALKS = 20
_AGGREGATE3 = bytes.fromhex("82ad56cb")
_BLOCKS = 25
_LOGS_PER_BLOCK = 100


async def walk_logs(node: str, gateway: str) -> None:
    """Print rows per second of both, measured in turn; every walk has to see each row of the node once.

    The windows begin with different empty blocks, so that no page is answered from memory.
    """
    first = load_world()[_CHAIN].height
    await _fill(node)
    paged = bare = 0.0
    pages = rows = 0
    async with aiohttp.ClientSession() as http:
        head = int(await _post(http, node, "eth_blockNumber", []), 16)
        for number in range(_WALKS):
            window = (first - number, head)
            started = time.perf_counter()
            logs = await _ask_node(http, node, window)
            bare += time.perf_counter() - started
            expected = [(int(log["blockNumber"], 16), int(log["logIndex"], 16)) for log in logs]
            started = time.perf_counter()
            seen, asked = await _walk(http, gateway, window)
            paged += time.perf_counter() - started
            if seen[::-1] != expected:
                raise AssertionError("the pages do not hold the node's logs")
            pages, rows = pages + asked, rows + len(expected)
    print(f"\n  logs of a busy range, {rows // _WALKS} rows, rows per second:")
    print(f"  {'bare node, eth_getLogs of the whole range':<52}{rows / bare:>10.0f} /s")
    print(f"  {f'gateway, getLogs walked by cursor, {pages // _WALKS} pages':<52}{rows / paged:>10.0f} /s")


async def _fill(node: str) -> None:
    """Add blocks of transfers of nothing, many in each, so that the range takes several pages."""
    token = load_world()[_CHAIN].wrapped_native.address
    call = (token, False, encode_call("transfer(address,uint256)", [known.ALICE, 0]))
    data = _AGGREGATE3 + encode(["(address,bool,bytes)[]"], [[call] * _LOGS_PER_BLOCK])
    sent = {"from": known.BOB, "to": known.MULTICALL3, "data": to_hex(data), "gas": hex(20_000_000)}
    async with aiohttp.ClientSession() as http:
        for _ in range(_BLOCKS):
            await _post(http, node, "eth_sendTransaction", [sent])
            await _post(http, node, "evm_mine", [])


async def _walk(http: aiohttp.ClientSession, url: str, window: tuple[int, int]) -> tuple[list[tuple[int, int]], int]:
    """Return block and index of every log, newest first, and how many pages held them."""
    params: dict[str, Any] = {"chain": _CHAIN, "fromBlock": window[0], "toBlock": window[1]}
    seen: list[tuple[int, int]] = []
    pages = 0
    while True:
        page = (await _post(http, url, "getLogs", params))["data"]
        pages += 1
        seen += [(log["blockNumber"], log["logIndex"]) for log in page["logs"]]
        if not page["hasMore"]:
            return seen, pages
        params["cursor"] = page["cursor"]


async def _ask_node(http: aiohttp.ClientSession, url: str, window: tuple[int, int]) -> list[dict[str, Any]]:
    logs: list[dict[str, Any]] = await _post(
        http, url, "eth_getLogs", [{"fromBlock": hex(window[0]), "toBlock": hex(window[1])}]
    )
    return logs


async def _post(http: aiohttp.ClientSession, url: str, method: str, params: object) -> Any:
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    async with http.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
        document = orjson.loads(await answer.read())
    if "result" not in document:
        raise AssertionError(f"unexpected answer to {method}: {document}")
    return document["result"]
